import { describeDhcpReservation } from '../../engine/dhcp-reservation.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Facts } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { NodeMembership } from './node-membership.ts';
import type { StepEnvironment } from './step-environment.ts';

/** How a finished machine was found. */
export interface MachineObservation {
  /** It does not exist on its platform any more. */
  readonly gone?: true;
  /** The disks that its system was on do not exist either. */
  readonly lost?: true;
  /** It could not be looked at: what is said is why. */
  readonly unseen?: true;
  /** What matters most first. */
  readonly drift: readonly Drift[];
  readonly notJoined?: string;
  /** All is well, and whatever changes about it is told from now on: this is what its platform judged it by. */
  readonly restsBy?: string;
  /** What was learned about the node. */
  readonly learned?: Facts;
}

/**
 * Looks at a finished machine, at its platform and in its cluster. Changes nothing. The node of one that was a member all the time is
 * asked itself only where the API server of the cluster does not say that it is ready.
 */
export async function observeMachine(
  workplace: StepEnvironment,
  context: TalosStepContext,
  member: NodeMembership,
): Promise<MachineObservation> {
  const { exists, lost, runs, run, drift, trace } = await workplace.platform.observe(context);
  if (!exists) return { gone: true, ...(lost ? { lost } : {}), drift, notJoined: 'It is gone.' };
  if (runs === false) return { drift, notJoined: 'The machine is powered off.' };
  const isReady = await member.isReady();
  const isKnown = member.isKnown(run);
  const notJoined = isReady && isKnown ? undefined : await notJoinedReason(context, isKnown ? undefined : member);
  if (notJoined !== undefined) return { drift, notJoined };
  const rests = isReady && trace !== undefined && drift.length === 0;
  return { drift, learned: member.note(run), ...(rests ? { restsBy: trace } : {}) };
}

/**
 * What is known of a finished machine whose platform cannot be asked. Its node may serve all the same: that is asked of the
 * cluster, and the trouble of the platform is told beside it.
 */
export async function observeWithoutPlatform(
  { reason, message }: Pick<Drift, 'reason' | 'message'>,
  node: Pick<TalosStepContext, 'openTalos' | 'facts'>,
  member: NodeMembership,
): Promise<MachineObservation> {
  // Which run of the machine this is, only its platform could tell.
  const isKnown = member.isKnown(undefined);
  const serves = isKnown && (await member.isReady());
  const notJoined = serves ? undefined : await notJoinedReason(node, isKnown ? undefined : member);
  if (notJoined === undefined) return { unseen: true, drift: [{ reason, message, minor: true }] };
  return { unseen: true, drift: [{ reason, message: `${message} ${notJoined}` }], notJoined };
}

/** Whether the platform is silent, or has answered with what only a change can cure. */
export const platformProblemOf = (error: ProviderError): Pick<Drift, 'reason' | 'message'> => ({
  reason: error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable',
  message: error.message,
});

/** `member` of a node that was missed: that it says itself that it is ready is not enough then. */
async function notJoinedReason(
  context: Pick<TalosStepContext, 'openTalos' | 'facts'>,
  member: NodeMembership | undefined,
): Promise<string | undefined> {
  let talos: TalosClient | undefined;
  try {
    talos = context.openTalos(String(context.facts['address']));
    const { stage, ready, unmetConditions } = await talos.machineStatus();
    if (stage === 'running' && ready) return await member?.whyNotSeen(talos);
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
