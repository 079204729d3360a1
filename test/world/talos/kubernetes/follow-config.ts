import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

/** Waits until the controllers of a node have followed the next change of its active configuration. */
export async function followConfig(node: TalosNode): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = node.onConfig(() => {
      stop();
      resolve();
    });
  });
  await node.sleep(timings.controllers);
}

/** The same, or until everything else is due for a look. */
export async function pollOrFollowConfig(node: TalosNode): Promise<void> {
  let stop = (): void => {};
  const changed = new Promise<boolean>((resolve) => {
    stop = node.onConfig(() => resolve(true));
  });
  const isChanged = await Promise.race([changed, node.sleep(timings.poll).then(() => false)]).finally(stop);
  if (isChanged) await node.sleep(timings.controllers);
}
