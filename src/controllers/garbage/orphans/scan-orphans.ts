import { Machine } from '../../../api/machine.ts';
import type { InFailureDomain } from '../../../engine/capabilities/failure-domains.ts';
import type { Orphan, OrphanCapability } from '../../../engine/capabilities/orphans.ts';
import type { PlatformContext } from '../../../engine/contexts.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Services } from '../../shared/services.ts';

/** A failure domain in which a ProviderConfig creates machines, with its platform. */
export interface OrphanScope {
  readonly platform: string;
  readonly orphans: OrphanCapability<unknown>;
  readonly check: PlatformContext & InFailureDomain;
}

/** An orphan and the scope in which it was found. */
export interface FoundOrphan {
  readonly orphan: Orphan;
  readonly scope: OrphanScope;
}

/** The result of a scan. */
export interface OrphanScan {
  readonly found: readonly FoundOrphan[];
  /** The failure domains that could not be scanned, with their errors. */
  readonly unreachable: readonly { readonly scope: OrphanScope; readonly error: ProviderError }[];
}

/**
 * Finds resources of Machines that do not exist. The cache excludes most of them; the rest is verified at the API
 * server, regardless of the labels of a Machine, so that an existing Machine is never treated as an orphan. An
 * unreachable failure domain does not stop the scan of the others.
 */
export async function scanOrphans(
  services: Pick<Services, 'kube' | 'stores' | 'installation' | 'provider'>,
  config: string,
  scopes: readonly OrphanScope[],
): Promise<OrphanScan> {
  const { kube, stores, installation, provider } = services;
  const read = async (scope: OrphanScope): Promise<OrphanScan> => {
    const { orphans, check } = scope;
    const isKnown = (name: string): boolean => {
      const machine = stores.machines.get({ name });
      return machine !== undefined && !isInOtherFailureDomain(machine, config, scope);
    };
    try {
      const found = await orphans.find({ ...check, instance: { installation, provider }, isKnown });
      return { found: found.map((orphan) => ({ orphan, scope })), unreachable: [] };
    } catch (error) {
      check.signal.throwIfAborted();
      if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
      return { found: [], unreachable: [{ scope, error }] };
    }
  };
  const reads = await Promise.all(scopes.map(read));
  const [found, away] = [reads.flatMap((one) => one.found), reads.flatMap((one) => one.unreachable)];
  const [first] = found;
  if (!first) return { found: [], unreachable: away };
  // After the scan: a Machine is created before its resources.
  const { items } = await kube.list(Machine, {}, first.scope.check.signal);
  const machines = new Map(items.map((machine) => [machine.metadata.name, machine]));
  const left = found.flatMap((one) => excludeLiving(one, machines.get(one.orphan.machine), config));
  return { found: mergeCopies(left), unreachable: away };
}

/**
 * The Machine was created in another failure domain of the ProviderConfig: the resources of its name here belong to an
 * earlier Machine.
 */
const isInOtherFailureDomain = (
  { spec }: Machine,
  config: string,
  { check: { failureDomain } }: OrphanScope,
): boolean =>
  spec.providerConfigRef.name === config &&
  spec.failureDomain !== undefined &&
  failureDomain !== undefined &&
  spec.failureDomain !== failureDomain;

function excludeLiving(found: FoundOrphan, machine: Machine | undefined, config: string): FoundOrphan[] {
  if (!machine) return [found];
  const { orphan, scope } = found;
  // Two failure domains of the list may be the same system.
  const [made, here] = [machine.status?.progress?.facts['system'], orphan.facts['system']];
  if (!isInOtherFailureDomain(machine, config, scope) || made === undefined || made === here) return [];
  const uncertainty = `A Machine with this name exists at ${machine.spec.failureDomain} and uses the address and the key. Remove these resources manually.`;
  return [{ scope, orphan: { ...orphan, uncertainty: orphan.uncertainty ?? uncertainty } }];
}

/**
 * A machine exists in one failure domain only. Several findings mean that all but one are copies, and it is unknown
 * which.
 */
function mergeCopies(all: readonly FoundOrphan[]): FoundOrphan[] {
  const machines = [...new Set(all.map(({ orphan }) => orphan.machine))];
  return machines.flatMap((machine) => {
    const found = all.filter(({ orphan }) => orphan.machine === machine);
    const [one, ...others] = found;
    if (!one || others.length === 0) return found;
    const failureDomains = found.map(({ scope }) => scope.check.failureDomain).join(', ');
    const orphan: Orphan = {
      ...one.orphan,
      resources: [...new Set(found.flatMap(({ orphan }) => orphan.resources))],
      isRunning: found.some(({ orphan }) => orphan.isRunning),
      uncertainty: `Resources with its mark exist in several failure domains (${failureDomains}), so some may be copies. Remove the copies manually.`,
    };
    return [{ ...one, orphan }];
  });
}
