import type { Machine } from '../../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../../engine/advance.ts';
import type { Drift } from '../../../engine/observation.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { isUpdateOpen } from '../../../talos/update/update-context.ts';
import { comparedMachinesOf } from '../configuration/compared-machines.ts';
import { observeNode } from '../configuration/observe-configuration.ts';
import { isConfigAccepted } from '../is-config-accepted.ts';
import { isProvisioned } from '../is-provisioned.ts';
import { nodeMembershipOf } from '../node-membership.ts';
import {
  type MachineObservation,
  observeMachine,
  observeWithoutPlatform,
  platformProblemOf,
} from '../observe-machine.ts';
import { findProvisioningBlocker } from '../provisioning-blocker.ts';
import { approvalsOf, type MachineApprovals } from '../repair/approvals.ts';
import { withRequestedRestart } from '../repair/restart-request.ts';
import type { DesiredMachine } from './desired.ts';

/** What is known of a Machine. The steps of this reconcile replace it. */
export interface ObservedMachine {
  readonly progress: Progress | undefined;
  /** Why a Machine that is not provisioned must not be. */
  readonly blocker?: ProviderError | undefined;
  /** Of a Machine that is provisioned, or that has joined. */
  readonly observation?: MachineObservation | undefined;
  readonly approvals: MachineApprovals;
  /** The steps that were run in this reconcile. */
  readonly walk?: MachineWalk;
}

export interface MachineWalk {
  readonly plan: Progress['plan'];
  readonly result: AdvanceResult;
  /** The phase before a repair or an update, which changes it. */
  readonly phaseBefore?: string | undefined;
  /** The drift for which this reconcile has started a repair. */
  readonly startedFor: readonly Drift[];
}

export async function observeDesiredMachine(desired: DesiredMachine): Promise<ObservedMachine> {
  const { services, machine, context, goal } = desired;
  const progress = savedProgress(machine);
  const approvals = approvalsOf(machine);
  if (goal === 'release') return { progress, approvals };
  if (isProvisioned(progress)) return { progress, approvals, observation: await observeProvisioned(desired, progress) };
  return { progress, approvals, blocker: await findProvisioningBlocker(services, machine, context.signal) };
}

export const savedProgress = (machine: Machine): Progress | undefined => {
  const saved = machine.status?.progress;
  // Only this provider writes facts, and their values are strings, numbers and booleans.
  return saved ? ({ ...saved, facts: saved.facts } as Progress) : undefined;
};

/** Observes a Machine on its platform, if that is possible, and in its cluster, and compares its configuration. */
export async function observeProvisioned(desired: DesiredMachine, progress: Progress): Promise<MachineObservation> {
  const observed = await observeMember(desired, progress);
  const observation = withRequestedRestart(desired.machine, progress.facts, observed);
  if (observation.notJoined !== undefined) {
    comparedMachinesOf(desired.services).forget(desired.machine);
    // A node that restarts for its update is not a member for a while.
    if (!isUpdateOpen(progress)) return observation;
  }
  const node = await observeNode(desired, progress);
  return {
    ...(node.addressConflict === undefined ? observation : withConflict(observation, node.addressConflict)),
    ...node,
  };
}

/** The conflict leaves the Machine ready. Without a fingerprint it is observed again, so that its end is noticed. */
function withConflict(
  { unchangedFingerprint: _, ...observation }: MachineObservation,
  message: string,
): MachineObservation {
  return { ...observation, drift: [...observation.drift, { reason: 'AddressConflict', message, isMinor: true }] };
}

async function observeMember(
  { services, machine, context: { signal }, environment, nodes }: DesiredMachine,
  { facts }: Progress,
): Promise<MachineObservation> {
  const member = nodeMembershipOf(services, machine, facts, signal);
  if (environment instanceof ProviderError) {
    // The platform credentials are missing, for example. Its Node may still be ready.
    const openTalos = (address: string) => nodes.open(address);
    const { code: reason, message } = environment;
    return await observeWithoutPlatform({ reason, message }, { facts, openTalos }, member);
  }
  const stepContext = environment.context(facts);
  try {
    return withoutUnacceptedDrift({ services, machine }, await observeMachine(environment, stepContext, member));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return await observeWithoutPlatform(platformProblemOf(error), stepContext, member);
  }
}

/** Without drift from a ProviderConfig that its platform has rejected or not yet checked. */
function withoutUnacceptedDrift(
  { services: { stores }, machine: { spec } }: Pick<DesiredMachine, 'services' | 'machine'>,
  observed: MachineObservation,
): MachineObservation {
  if (isConfigAccepted(stores.providerConfigs.get({ name: spec.providerConfigRef.name }))) return observed;
  return { ...observed, drift: observed.drift.filter(({ byConfig }) => !byConfig) };
}
