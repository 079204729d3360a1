import type { Testbed } from '../../support/testbed/testbed.ts';

/** The maximum number of nodes that were not ready at the same time. The poll interval is much shorter than a restart. */
export function watchNodes({ world }: Testbed) {
  let max = 0;
  const look = (): void => {
    max = Math.max(max, world.machines.nodes().filter(({ ready }) => !ready).length);
  };
  const timer = setInterval(look, 4);
  return { stop: () => clearInterval(timer), mostAway: () => max };
}
