import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Whether the object has been collected. The caller must not hold it either. */
export async function isReclaimed(held: WeakRef<object>): Promise<boolean> {
  for (let tries = 0; tries < 5; tries += 1) {
    // A dereferenced WeakRef keeps its target alive until the end of the turn.
    await turn();
    collect();
    if (held.deref() === undefined) return true;
  }
  return false;
}
