import { back, type Facts, fail, type Outcome, wait } from '../../engine/platform.ts';
import { type Ground, secondsSince, sshKeyOf } from './ground.ts';
import { openRescue } from './rescue/connect.ts';
import type { Rescue } from './rescue/rescue.ts';
import { hasCode } from './robot/errors.ts';

/** Someone who works in the rescue system of one server. */
export type RescueGround = Ground & { readonly facts: Facts };

/**
 * Works in the rescue system at `address`, whose host key was pinned when it was proven to be one. A connection for each
 * piece of work: rescue systems go away without a word.
 */
export async function inRescue<T>(
  ground: RescueGround,
  address: string,
  work: (rescue: Rescue) => Promise<T>,
  hostKey = String(ground.facts['rescueHostKey'] ?? ''),
): Promise<T> {
  const { signal, connections, config } = ground;
  const access = { address, port: config.sshPort, privateKey: sshKeyOf(ground), hostKey: hostKey || undefined };
  const rescue = await openRescue(access, { signal, observer: connections.observer });
  try {
    return await work(rescue);
  } finally {
    rescue.close();
  }
}

/** Nobody answers there, or nobody who lets us in. */
export const isSilent = (error: unknown): boolean =>
  hasCode(error, 'RESCUE_UNREACHABLE', 'RESCUE_LOGIN_REFUSED', 'DEADLINE_EXCEEDED');

/** So long a rescue system that was proven may be silent: networks come back. */
const lostSeconds = 600;
/** So often all is begun anew because it was gone. */
const mostReturns = 3;

/**
 * Works in the rescue system that an earlier step has proven. One that is gone for good, because somebody rebooted the server,
 * has to be entered anew: then it goes back to the step `armed`.
 */
export async function inProvenRescue(
  ground: RescueGround,
  address: string,
  armed: string,
  work: (rescue: Rescue) => Promise<Outcome>,
): Promise<Outcome> {
  try {
    const outcome = await inRescue(ground, address, work);
    if (!isLost(ground) || outcome.kind === 'fail') return outcome;
    return { ...outcome, facts: { ...outcome.facts, rescueLostAt: '' } };
  } catch (error) {
    if (!isSilent(error) && !hasCode(error, 'RESCUE_HOST_KEY_CHANGED')) throw error;
    return comeBack(ground, armed, (error as Error).message);
  }
}

const isLost = ({ facts }: RescueGround): boolean => String(facts['rescueLostAt'] ?? '') !== '';

function comeBack(ground: RescueGround, armed: string, why: string): Outcome {
  const now = ground.clock.now().toISOString();
  if (!isLost(ground)) return wait(20, `The rescue system does not answer any more. ${why}`, { rescueLostAt: now });
  if ((secondsSince(ground, 'rescueLostAt') ?? lostSeconds) < lostSeconds)
    return wait(30, `The rescue system is gone. ${why}`);
  const returns = Number(ground.facts['rescueReturns'] ?? 0);
  if (returns >= mostReturns) {
    return fail(
      'RescueLost',
      `The rescue system went away ${returns + 1} times. Find out who reboots the server. ${why}`,
    );
  }
  return back(armed, 5, `The rescue system is gone and entered anew. ${why}`, {
    ...{ rescueLostAt: '', rescueReturns: returns + 1 },
  });
}
