import type { HostView } from '../../../engine/capabilities/hosts.ts';
import { fail, type StepOutcome } from '../../../engine/platform.ts';
import type { ResetType, RobotClient } from '../api/client.ts';
import { hasCode } from '../errors.ts';
import { chooseResetType } from './choose-reset-type.ts';
import type { RescueContext } from './run-in-rescue.ts';

/** A server whose button is pressed. */
export interface ResetTarget {
  readonly host: HostView;
  /** Remembers how the server can be reset, which Robot is asked for once. */
  noteResetTypes(types: readonly string[]): Promise<void>;
}

/**
 * Resets a server, in the next way that makes sense after so many `earlier` ones. Undefined: it was, or probably was; else why it
 * cannot be.
 */
export async function resetServer(
  ground: RescueContext,
  robot: RobotClient,
  patient: ResetTarget,
  earlier: number,
): Promise<StepOutcome | undefined> {
  const { host } = patient;
  const { serverNumber, resetTypes: preferred } = host.spec;
  // Nearly all servers offer the same: it is only asked what this one does when that is refused, or had no effect.
  const known = host.server?.resetTypes ?? [];
  const usual =
    earlier > 0 ? undefined : chooseResetType(preferred, known.length > 0 ? known : preferred, undefined, 0);
  try {
    if (usual) {
      await requestReset(ground, robot, serverNumber, usual);
      return undefined;
    }
  } catch (error) {
    if (!hasCode(error, 'ROBOT_REFUSED', 'ROBOT_NOT_AVAILABLE')) throw error;
  }
  const { types, power } = await robot.getReset(serverNumber, { signal: ground.signal });
  await patient.noteResetTypes(types);
  const type = chooseResetType(preferred, types, power, earlier);
  if (type !== undefined) {
    await requestReset(ground, robot, serverNumber, type);
    return undefined;
  }
  const others = types.length > 0 ? types.join(', ') : 'none';
  return fail(
    'NoReset',
    `Server ${serverNumber} can only be reset by: ${others}. Name one that it offers in spec.resetTypes of the Host, or start it by hand while rescue is armed.`,
  );
}

async function requestReset(ground: RescueContext, robot: RobotClient, server: number, type: ResetType): Promise<void> {
  try {
    await robot.reset(server, type, { signal: ground.signal });
  } catch (error) {
    // It was probably done: what it was for shows, and another one would begin it all anew.
    if (!hasCode(error, 'ROBOT_OUTCOME_UNKNOWN', 'DEADLINE_EXCEEDED')) throw error;
  }
  ground.log.info({ server, type }, 'server reset');
}
