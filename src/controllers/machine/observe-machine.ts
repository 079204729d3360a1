import { describeDhcpReservation } from '../../engine/dhcp-reservation.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { NodeObservation } from './configuration/observe-configuration.ts';
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
  if (!exists) return { isGone: true, ...(isLost ? { isLost } : {}), drift, notJoined: 'It is gone.' };
  if (runs === false) return { drift, notJoined: 'The machine is powered off.' };
  const isReady = await member.isReady();
  const isKnown = member.isKnown(run);
  const notJoined = isReady && isKnown ? undefined : await notJoinedReason(context, isKnown ? undefined : member);
  if (notJoined !== undefined) return { drift, notJoined };
  const isUnchanged = isReady && fingerprint !== undefined && drift.length === 0;
  return { drift, facts: member.record(run), ...(isUnchanged ? { unchangedFingerprint: fingerprint } : {}) };
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
  const notJoined = serves ? undefined : await notJoinedReason(node, isKnown ? undefined : member);
  if (notJoined === undefined) return { isUnobservable: true, drift: [{ reason, message, isMinor: true }] };
  return { isUnobservable: true, drift: [{ reason, message: `${message} ${notJoined}` }], notJoined };
}

/** Distinguishes an unreachable platform from an error that needs a change. */
export const platformProblemOf = (error: ProviderError): Pick<Drift, 'reason' | 'message'> => ({
  reason: error.retry === 'after-change' ? 'PlatformRejected' : 'PlatformUnreachable',
  message: error.message,
});

/** `member` of a node that was missed: its own Ready condition is not sufficient then. */
async function notJoinedReason(
  context: Pick<TalosStepContext, 'openTalos' | 'facts'>,
  member: NodeMembership | undefined,
): Promise<string | undefined> {
  let talos: TalosClient | undefined;
  try {
    talos = context.openTalos(String(context.facts['address']));
    const { stage, ready, unmetConditions } = await talos.machineStatus();
    if (stage === 'running' && ready) return await member?.whyNotObserved(talos);
    const unmet = unmetConditions.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    return `The node is in stage ${stage}${unmet ? ` (${unmet})` : ''}.`;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const reservation = error.code === 'TALOS_UNREACHABLE' ? describeDhcpReservation(context.facts) : undefined;
    return reservation === undefined ? error.message : `${error.message} ${reservation}`;
  } finally {
    await talos?.close();
  }
}
