import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;

/**
 * Collects short-lived objects now, which takes some milliseconds. For work that leaves many large buffers behind: these are
 * not in the heap of V8, which waits until there are thirty megabytes of them.
 */
export function collectYoungGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect({ type: 'minor' });
}
