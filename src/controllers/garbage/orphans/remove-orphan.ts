import { Machine } from '../../../api/machine.ts';
import type { OrphanEntry } from '../../../api/orphan-entry.ts';
import { type AdvanceResult, advance, type Progress } from '../../../engine/advance.ts';
import type { OrphanRemovalContext } from '../../../engine/capabilities/orphans.ts';
import { type Facts, fail, type Step } from '../../../engine/step.ts';
import { isServerCondition } from '../../../kube/errors.ts';
import { addressHolder } from '../../shared/addresses/address-leases.ts';
import { diskKeyOf } from '../../shared/secrets/disk-keys.ts';
import type { Services } from '../../shared/services.ts';
import type { FoundOrphan, OrphanScope } from './scan-orphans.ts';

type RemovalProgress = Progress<'release'>;

/** The reason of a removal that ended because its object is no orphan any more or has an objection. */
export const noLongerOrphanReason = 'OrphanNoMore';

/** The progress record of a new removal. */
export function createRemovalRecord({ orphan, scope }: FoundOrphan, isRequested: boolean, now: Date): RemovalProgress {
  const { orphans, check } = scope;
  const failureDomain = check.failureDomain === undefined ? {} : { failureDomain: check.failureDomain };
  const facts: Facts = { ...orphan.facts, ...failureDomain, requested: isRequested };
  return { plan: 'release', step: orphans.remove[0]?.name ?? '', since: now.toISOString(), failures: 0, facts };
}

/** A user has requested the removal, so the orphan may be running. */
export const isRequestedRemoval = ({ removal }: Pick<OrphanEntry, 'removal'>): boolean =>
  removal?.facts['requested'] === true;

/** The scope in which the removal continues; undefined if the ProviderConfig no longer names its failure domain. */
export const findRemovalScope = ({ removal }: OrphanEntry, scopes: readonly OrphanScope[]): OrphanScope | undefined =>
  scopes.find(({ check }) => check.failureDomain === removal?.facts['failureDomain']);

/** Runs the removal steps as far as possible now. */
export async function runRemovalSteps(
  services: Services,
  scope: OrphanScope,
  entry: OrphanEntry,
  save: (removal: RemovalProgress) => Promise<void>,
): Promise<AdvanceResult<'release'>> {
  const { installation, provider, addresses, observer, clock } = services;
  const { platform, orphans, check } = scope;
  const { machine } = entry;
  const holder = addressHolder.machine(machine);
  const { signal } = check;
  const guard = (step: Step<OrphanRemovalContext>): Step<OrphanRemovalContext> => ({
    ...step,
    run: async (context) => {
      const against = await recheckObjection(services, scope, entry);
      return against ? fail(noLongerOrphanReason, against) : await step.run(context);
    },
  });
  return await advance<OrphanRemovalContext, 'release'>({
    plan: 'release',
    steps: orphans.remove.map(guard),
    // Only this provider writes facts, and their values are strings, numbers and booleans.
    progress: entry.removal as RemovalProgress,
    context: (facts) => ({
      ...check,
      ...{ owner: { installation, provider, machine }, facts },
      addresses: { release: () => addresses.release(holder, signal) },
      diskKey: diskKeyOf(services, machine, signal),
    }),
    save,
    observer: (step, end, seconds) => observer.step({ platform, plan: 'release', step }, end, seconds),
    concernsRecord: isServerCondition,
    clock,
    signal,
  });
}

/** Checked before each step: a Machine of that name may have been created, or the orphan started. */
async function recheckObjection(
  { kube, installation, provider }: Services,
  { orphans, check }: OrphanScope,
  entry: OrphanEntry,
): Promise<string | undefined> {
  const { machine } = entry;
  if (await kube.find(Machine, { name: machine }, check.signal)) return 'A Machine with this name exists again.';
  if (isRequestedRemoval(entry)) return undefined;
  const isOther = (name: string): boolean => name !== machine;
  const found = await orphans.find({ ...check, instance: { installation, provider }, isKnown: isOther });
  return found.some(({ isRunning }) => isRunning) ? 'It was started again.' : undefined;
}
