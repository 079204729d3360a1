import type { BootActivation, RobotState, ServerState } from '../state.ts';
import { worldSeconds } from '../world-time.ts';

/** The armed configuration, if any. */
export function currentActivation(robot: RobotState, server: ServerState): BootActivation | undefined {
  const { activation } = server;
  if (activation?.kind === 'rescue' && worldSeconds(robot) - activation.at >= robot.delays.lapseSeconds) {
    server.activation = undefined;
  }
  return server.activation;
}

/** A network boot takes the armed configuration and disarms it. */
export function consumeActivation(robot: RobotState, server: ServerState): BootActivation | undefined {
  const activation = currentActivation(robot, server);
  server.activation = undefined;
  return activation;
}
