import { type ConditionState, conditionTrue } from '../../api/conditions.ts';
import { describeDhcpReservation } from '../../engine/dhcp-reservation.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { NodeObservation } from './configuration/observe-configuration.ts';
import { assessNodeHealth, healthOfMissing, unknownHealth } from './node-health.ts';
import type { NodeMembership } from './node-membership.ts';
import type { StepEnvironment } from './step-environment.ts';

/** The result of an observation of a provisioned Machine. */
export interface MachineObservation extends NodeObservation {
  /** It no longer exists on its platform. */
  readonly isGone?: true;
  /** Its system disks no longer exist either. */
  readonly isLost?: true;
  /** The platform could not be asked. The drift holds the reason. */
  readonly isUnobservable?: true;
  /** Most important first. */
  readonly drift: readonly Drift[];
  readonly notJoined?: string;
  /** The condition `NodeHealthy`. */
  readonly nodeHealth?: ConditionState;
  /** The Machine is healthy, and its changes are monitored. This is the fingerprint of its platform. */
  readonly unchangedFingerprint?: string;
  /** Facts about the node that the observation has found. */
  readonly facts?: Facts;
}

/**
 * Observes a provisioned Machine on its platform and in its cluster. Read-only. The node of an established member is
 * asked only if the API server of the cluster does not report it as Ready.
 */
export async function observeMachine(
  environment: StepEnvironment,
  context: TalosStepContext,
  member: NodeMembership,
): Promise<MachineObservation> {
  const { exists, isLost, runs, run, drift, fingerprint } = await environment.platform.observe(context);
  if (!exists) {
    const nodeHealth = healthOfMissing(isLost, drift);
    return { isGone: true, ...(isLost ? { isLost } : {}), drift, notJoined: 'It is gone.', nodeHealth };
  }
  const off = 'The machine is powered off.';
  if (runs === false) return { drift, notJoined: off, nodeHealth: unknownHealth(off) };
  const isReady = await member.isReady();
  const isKnown = member.isKnown(run);
  const { notJoined, isReachable } =
    isReady && isKnown ? unasked : await askNode(context, isKnown ? undefined : member);
  const isClusterObserved = member.isClusterObserved();
  const nodeHealth = assessNodeHealth({ drift, isReady, isClusterObserved, notJoined, isReachable });
  if (notJoined !== undefined) return { drift, notJoined, nodeHealth };
  const isUnchanged = isReady && fingerprint !== undefined && drift.length === 0;
  const unchanged = isUnchanged ? { unchangedFingerprint: fingerprint } : {};
  return { drift, facts: member.record(run), nodeHealth, ...unchanged };
}

/**
 * Observes a provisioned Machine whose platform cannot be asked. Its node may still work, so the cluster is asked, and
 * the platform error is reported as drift.
 */
export async function observeWithoutPlatform(
  { reason, message }: Pick<Drift, 'reason' | 'message'>,
  node: Pick<TalosStepContext, 'openTalos' | 'facts'>,
  member: NodeMembership,
): Promise<MachineObservation> {
  // Only the platform knows the current run of the machine.
  const isKnown = member.isKnown(undefined);
  const serves = isKnown && (await member.isReady());
  const { notJoined } = serves ? unasked : await askNode(node, isKnown ? undefined : member);
  const nodeHealth = serves ? conditionTrue('NodeHealthy') : unknownHealth(message);
  if (notJoined === undefined) return { isUnobservable: true, drift: [{ reason, message, isMinor: true }], nodeHealth };
  return { isUnobservable: true, drift: [{ reason, message: `${message} ${notJoined}` }], notJoined, nodeHealth };
}

/** Distinguishes an unreachable platform from an error that needs a change. */
export const platformProblemOf = (error: ProviderError): Pick<Drift, 'reason' | 'message'> => ({
  reason: error.retry === 'after-change' ? 'PlatformRejected' : 'PlatformUnreachable',
  message: error.message,
});

/** What the node itself says. */
interface NodeAnswer {
  /** Why it is not a member of its cluster; undefined if it is. */
  readonly notJoined: string | undefined;
  /** Undefined: it was not asked. */
  readonly isReachable: boolean | undefined;
}

const unasked: NodeAnswer = { notJoined: undefined, isReachable: undefined };

/** `member` of a node that was missed: its own Ready condition is not sufficient then. */
async function askNode(
  context: Pick<TalosStepContext, 'openTalos' | 'facts'>,
  member: NodeMembership | undefined,
): Promise<NodeAnswer> {
  let talos: TalosClient | undefined;
  try {
    talos = context.openTalos(String(context.facts['address']));
    const { stage, ready, unmetConditions } = await talos.machineStatus();
    if (stage === 'running' && ready) return { notJoined: await member?.whyNotObserved(talos), isReachable: true };
    const unmet = unmetConditions.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    return { notJoined: `The node is in stage ${stage}${unmet ? ` (${unmet})` : ''}.`, isReachable: true };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const reservation = error.code === 'TALOS_UNREACHABLE' ? describeDhcpReservation(context.facts) : undefined;
    const notJoined = reservation === undefined ? error.message : `${error.message} ${reservation}`;
    return { notJoined, isReachable: error.code !== 'TALOS_UNREACHABLE' && error.code !== 'DEADLINE_EXCEEDED' };
  } finally {
    await talos?.close();
  }
}
