import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** Runs the garbage collector, whatever flags the process was started with. */
export function runHeapGc(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    const found: unknown = runInNewContext('gc');
    if (typeof found !== 'function') throw new Error('there is no garbage collector to call');
    collect = () => void found();
  }
  collect();
  collect();
}

export const heapBytes = (): number => process.memoryUsage().heapUsed;
