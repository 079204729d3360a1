import type { Bench } from './figure.ts';
import { measureRobotCalls } from './robot-calls.ts';
import { measureRobotMinutes } from './robot-minutes.ts';
import { measureRobotRest } from './robot-rest.ts';
import { measureRobotRush } from './robot-rush.ts';

/** What bare servers cost at Robot. */
export const robot: Bench = {
  name: 'Bare servers',
  async measure(say) {
    const calls = await measureRobotCalls(say);
    return [...calls, await measureRobotMinutes(), await measureRobotRush(), ...(await measureRobotRest(say))];
  },
};
