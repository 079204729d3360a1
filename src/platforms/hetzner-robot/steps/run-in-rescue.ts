import { type Facts, fail, returnToStep, type StepOutcome, wait } from '../../../engine/step.ts';
import { type RobotContext, rescueSshKey, secondsSince } from '../context.ts';
import { hasCode } from '../errors.ts';
import { openRescue } from '../rescue/connect.ts';
import type { RescueClient } from '../rescue/rescue-client.ts';

/** The context of work in the rescue system of one server. */
export type RescueContext = RobotContext & { readonly facts: Facts };

/**
 * Runs work in the rescue system at `address`, whose host key was pinned when it was verified. Each piece of work has
 * its own connection, because rescue systems disappear without notice.
 */
export async function runInRescue<T>(
  context: RescueContext,
  address: string,
  work: (rescue: RescueClient) => Promise<T>,
  hostKey = String(context.facts['rescueHostKey'] ?? ''),
): Promise<T> {
  const { signal, connections, config } = context;
  const access = { address, port: config.sshPort, privateKey: rescueSshKey(context), hostKey: hostKey || undefined };
  const rescue = await openRescue(access, { signal, observer: connections.observer });
  try {
    return await work(rescue);
  } finally {
    rescue.close();
  }
}

/** The rescue system does not answer, or refuses the login. */
export const isRescueUnreachable = (error: unknown): boolean =>
  hasCode(error, 'RESCUE_UNREACHABLE', 'RESCUE_LOGIN_REFUSED', 'DEADLINE_EXCEEDED');

/** The rescue system does not answer, or another system answers in its place. */
export const isRescueGone = (error: unknown): boolean =>
  isRescueUnreachable(error) || hasCode(error, 'RESCUE_HOST_KEY_CHANGED');

/** A verified rescue system may be unreachable for this long: networks recover. */
const lostTimeoutSeconds = 600;
/** Maximum number of times that a lost rescue system is entered again. */
const maxReentries = 3;

/**
 * Runs work in the rescue system that an earlier step has verified. A rescue system that stays lost, because the server
 * was rebooted, has to be entered again: the walk returns to the step `armed`.
 */
export async function runInVerifiedRescue(
  context: RescueContext,
  address: string,
  armed: string,
  work: (rescue: RescueClient) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  try {
    const outcome = await runInRescue(context, address, work);
    if (!isRescueLost(context) || outcome.kind === 'fail') return outcome;
    return { ...outcome, facts: { ...outcome.facts, rescueLostAt: '' } };
  } catch (error) {
    if (!isRescueGone(error)) throw error;
    return reenterRescue(context, armed, (error as Error).message);
  }
}

const isRescueLost = ({ facts }: RescueContext): boolean => String(facts['rescueLostAt'] ?? '') !== '';

function reenterRescue(context: RescueContext, armed: string, why: string): StepOutcome {
  const now = context.clock.now().toISOString();
  if (!isRescueLost(context)) return wait(20, `The rescue system no longer answers. ${why}`, { rescueLostAt: now });
  if ((secondsSince(context, 'rescueLostAt') ?? lostTimeoutSeconds) < lostTimeoutSeconds)
    return wait(30, `The rescue system is gone. ${why}`);
  const returns = Number(context.facts['rescueReturns'] ?? 0);
  if (returns >= maxReentries) {
    return fail(
      'RescueLost',
      `The rescue system ended unexpectedly ${returns + 1} times. Find out what reboots the server. ${why}`,
    );
  }
  return returnToStep(armed, 5, `The rescue system ended and is booted again. ${why}`, {
    ...{ rescueLostAt: '', rescueReturns: returns + 1 },
  });
}
