import type { BootActivation, RobotState, ServerState } from '../state.ts';
import { worldSeconds } from '../world-time.ts';

/** What is armed right now, if anything. */
export function currentActivation(robot: RobotState, server: ServerState): BootActivation | undefined {
  const { activation } = server;
  if (activation?.kind === 'rescue' && worldSeconds(robot) - activation.at >= robot.delays.lapseSeconds) {
    server.activation = undefined;
  }
  return server.activation;
}

/** A network boot takes what is armed: from then on nothing is. */
export function consumeActivation(robot: RobotState, server: ServerState): BootActivation | undefined {
  const activation = currentActivation(robot, server);
  server.activation = undefined;
  return activation;
}
