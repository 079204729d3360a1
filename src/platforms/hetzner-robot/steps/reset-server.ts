import { fail, type StepOutcome } from '../../../engine/step.ts';
import type { ResetType, RobotClient } from '../api/client.ts';
import { hasCode } from '../errors.ts';
import type { RobotHost } from '../hosts/robot-host.ts';
import { chooseResetType } from './choose-reset-type.ts';
import type { RescueContext } from './run-in-rescue.ts';

/** A server that has to be reset. */
export interface ResetTarget {
  readonly host: RobotHost;
  /** Records the reset types of the server, so that Robot is asked once. */
  recordResetTypes(types: readonly string[]): Promise<void>;
}

/**
 * Resets a server by the next suitable type after `earlier` attempts. Undefined: it was reset, or probably was; else
 * the reason why not.
 */
export async function resetServer(
  context: RescueContext,
  robot: RobotClient,
  target: ResetTarget,
  earlier: number,
): Promise<StepOutcome | undefined> {
  const { number, platformSpec, platformStatus } = target.host;
  const preferred = platformSpec.resetTypes;
  // Nearly all servers offer the same types. Robot is asked for them only when the first is refused or had no effect.
  const known = platformStatus.resetTypes;
  const usual =
    earlier > 0 ? undefined : chooseResetType(preferred, known.length > 0 ? known : preferred, undefined, 0);
  try {
    if (usual) {
      await requestReset(context, robot, number, usual);
      return undefined;
    }
  } catch (error) {
    if (!hasCode(error, 'ROBOT_REFUSED', 'ROBOT_NOT_AVAILABLE')) throw error;
  }
  const { types, power } = await robot.getReset(number, { signal: context.signal });
  await target.recordResetTypes(types);
  const type = chooseResetType(preferred, types, power, earlier);
  if (type !== undefined) {
    await requestReset(context, robot, number, type);
    return undefined;
  }
  const others = types.length > 0 ? types.join(', ') : 'none';
  return fail(
    'NoReset',
    `The only reset types of server ${number} are ${others}. Add one of them to spec.hetznerRobot.resetTypes of the Host, or restart the server manually while the rescue system is active.`,
  );
}

async function requestReset(
  context: RescueContext,
  robot: RobotClient,
  server: number,
  type: ResetType,
): Promise<void> {
  try {
    await robot.reset(server, type, { signal: context.signal });
  } catch (error) {
    // The reset probably happened, and a later check shows it. Another reset would start the boot again.
    if (!hasCode(error, 'ROBOT_OUTCOME_UNKNOWN', 'DEADLINE_EXCEEDED')) throw error;
  }
  context.log.info({ server, type }, 'server reset');
}
