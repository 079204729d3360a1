import { Cluster } from '../../../api/openmcp/types.ts';
import type { OrphanEntry, OrphanSearch } from '../../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Services } from '../../shared/services.ts';
import { gatherMachineEvidence } from '../machine-evidence.ts';
import {
  decideRemoval,
  describeUnavailableObjection,
  findAutomaticRemovalObjection,
  findRemovalObjection,
} from './decide-removal.ts';
import { describeOrphans, reportNewOrphans } from './describe-orphans.ts';
import { type ListedOrphans, selectListedOrphans, updateObservation } from './orphan-entries.ts';
import { type AssessedOrphan, beginRemovals, continueRemovals } from './orphan-removals.ts';
import type { OrphanStatusWriter } from './orphan-status-writer.ts';
import { resolveRequestedRemovals } from './requested-removals.ts';
import { type FoundOrphan, type OrphanScope, scanOrphans } from './scan-orphans.ts';

/** The result of a scan for the status. */
export interface OrphanReport {
  readonly listed: ListedOrphans;
  readonly search: OrphanSearch;
  /** All failure domains could be scanned. */
  readonly isDone: boolean;
  /** Seconds until the next step of a removal, if one is in progress. */
  readonly requeueAfterSeconds?: number | undefined;
}

/**
 * Scans for orphans and runs their removals. `away`: failure domains that cannot be scanned. Their entries stay
 * unchanged, and no removal begins while one is missing.
 */
export async function collectOrphans(
  services: Services,
  writer: OrphanStatusWriter,
  scopes: readonly OrphanScope[],
  { away, signal }: { readonly away: readonly string[]; readonly signal: AbortSignal },
): Promise<OrphanReport> {
  try {
    return await scanAndRemove(services, writer, scopes, away);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const result = error.retry === 'after-change' ? 'PlatformRejected' : 'PlatformUnreachable';
    const search = { result, message: error.message } as const;
    return { listed: listedOrphansOf(writer.config), search, isDone: false };
  }
}

async function scanAndRemove(
  services: Services,
  writer: OrphanStatusWriter,
  scopes: readonly OrphanScope[],
  named: readonly string[],
): Promise<OrphanReport> {
  const { config } = writer;
  const checked = await scanOrphans(services, config.metadata.name, scopes);
  const [failed] = checked.unreachable;
  if (failed && checked.unreachable.length === scopes.length) throw failed.error;
  const away = [...named, ...checked.unreachable.map(({ scope }) => scope.check.failureDomain ?? '')];
  const unseen = describeUnavailableObjection(away);
  const assessed = await assessOrphans(services, config, checked.found, unseen);
  reportNewOrphans(
    services.events,
    config,
    assessed.map(({ entry }) => entry),
  );
  const requested = resolveRequestedRemovals(services, config, assessed, unseen);
  const isUnseen = (entry: OrphanEntry): boolean => {
    const failureDomain = failureDomainOfEntry(entry);
    // An entry from before the failure domain was recorded may be in any of them.
    return away.length > 0 && (failureDomain === undefined || away.includes(failureDomain));
  };
  const started = await beginRemovals(services, writer, assessed, requested, isUnseen);
  const there = scopes.filter(({ check }) => !away.includes(check.failureDomain ?? ''));
  const { entries, requeueAfterSeconds } = await continueRemovals(services, writer, there, started, isUnseen);
  const search = describeOrphans(
    entries.map(({ machine }) => machine),
    away,
  );
  const found = entries.length > 0 ? { orphans: selectListedOrphans(entries), orphanCount: entries.length } : {};
  return {
    listed: found,
    search,
    isDone: checked.unreachable.length === 0,
    requeueAfterSeconds,
  };
}

/** Each orphan with its evidence and the decision about its automatic removal. */
async function assessOrphans(
  services: Services,
  config: ProviderConfig,
  found: readonly FoundOrphan[],
  unseen: string | undefined,
): Promise<AssessedOrphan[]> {
  const [first] = found;
  if (!first) return [];
  const { signal } = first.scope.check;
  const known = config.status?.orphans ?? [];
  const now = services.clock.now();
  const { items: clusters } = await services.kube.list(Cluster, {}, signal);
  const assessed: AssessedOrphan[] = [];
  for (const { orphan, scope } of found) {
    const evidence = await gatherMachineEvidence(services, clusters, orphan.machine, signal);
    const proof = findAutomaticRemovalObjection(orphan, evidence);
    const against = findRemovalObjection(orphan, evidence) ?? unseen ?? proof;
    const { failureDomain } = scope.check;
    const observed = updateObservation({ ...orphan, failureDomain }, against === undefined, known, now);
    const { isRemoved, message } =
      against === undefined ? decideRemoval(observed.unusedSince, now) : { isRemoved: false, message: against };
    const goesOn = unseen !== undefined && proof === undefined;
    assessed.push({
      orphan,
      scope,
      evidence,
      isRemoved,
      isInProgress: goesOn,
      entry: { ...observed, message },
    });
  }
  return assessed;
}

const failureDomainOfEntry = ({
  failureDomain,
  removal,
}: Pick<OrphanEntry, 'failureDomain' | 'removal'>): string | undefined =>
  failureDomain ?? (typeof removal?.facts['failureDomain'] === 'string' ? removal.facts['failureDomain'] : undefined);

/** The orphans that are already listed in the status. */
const listedOrphansOf = ({ status }: ProviderConfig): ListedOrphans => ({
  ...(status?.orphans ? { orphans: status.orphans } : {}),
  ...(status?.orphanCount === undefined ? {} : { orphanCount: status.orphanCount }),
});
