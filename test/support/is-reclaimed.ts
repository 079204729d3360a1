import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Whether nobody holds on to it any more. Whoever asks must not hold it either. */
export async function isReclaimed(held: WeakRef<object>): Promise<boolean> {
  for (let tries = 0; tries < 5; tries += 1) {
    // What was looked up by a weak reference lives until the end of the turn.
    await turn();
    collect();
    if (held.deref() === undefined) return true;
  }
  return false;
}
