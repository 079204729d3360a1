import { Machine, type MachineStatus } from '../../../api/machine.ts';
import { annotations, openmcpKeys } from '../../../api/names.ts';
import { isConflict, isNotFound } from '../../../kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../kube/resource.ts';
import { forgottenSystemFacts, isUpdateOpen } from '../../../talos/update/update-context.ts';
import type { Services } from '../../shared/services.ts';

/**
 * Lets the updates of these Machines begin again with their first step: a step looks before it acts, so what is done is not
 * done twice. The Machine is reconciled at once.
 */
export async function retryUpdates(
  { kube, clock }: Pick<Services, 'kube' | 'clock'>,
  machines: readonly Machine[],
  signal: AbortSignal,
): Promise<void> {
  for (const machine of machines) {
    const { name, resourceVersion } = machine.metadata;
    const progress = withoutSteps(machine.status?.progress, clock.now());
    const lock = resourceVersion ? { resourceVersion } : {};
    try {
      if (progress)
        await kube.merge(Machine, { name }, { status: { progress } }, { subresource: 'status', ...lock }, signal);
    } catch (error) {
      // Its steps have moved on since, which is what was asked for; or it is gone.
      if (!isConflict(error) && !isNotFound(error)) throw error;
      continue;
    }
    const metadata = { annotations: { [openmcpKeys.operation]: 'reconcile' } };
    await kube.merge(Machine, { name }, { metadata }, {}, signal);
  }
}

/** The record of a provisioned Machine whose update has not begun. */
function withoutSteps(progress: MachineStatus['progress'], now: Date): object | undefined {
  if (!isUpdateOpen(progress)) return undefined;
  const at = now.toISOString();
  // Without its record, a node that has fallen back to its former system may be upgraded once more.
  const begun = { plan: 'provision', step: '', since: at, failures: 0, finishedAt: progress?.finishedAt ?? at };
  return { ...begun, facts: forgottenSystemFacts };
}

/** Removes the annotation `rollout`. Returns the object after that. */
export async function removeRolloutRequest<T extends KubeObject>(
  { kube }: Pick<Services, 'kube'>,
  type: ResourceType<T>,
  object: T,
  signal: AbortSignal,
): Promise<T> {
  return await kube.merge(
    type,
    objectKeyOf(object),
    { metadata: { annotations: { [annotations.rollout]: null } } },
    {},
    signal,
  );
}
