import type { Activation, Robot, Server } from './state.ts';
import { worldSeconds } from './time.ts';

/** What is armed right now, if anything. */
export function armed(robot: Robot, server: Server): Activation | undefined {
  const { activation } = server;
  if (activation?.kind === 'rescue' && worldSeconds(robot) - activation.at >= robot.delays.lapseSeconds) {
    server.activation = undefined;
  }
  return server.activation;
}

/** A network boot takes what is armed: from then on nothing is. */
export function consume(robot: Robot, server: Server): Activation | undefined {
  const activation = armed(robot, server);
  server.activation = undefined;
  return activation;
}
