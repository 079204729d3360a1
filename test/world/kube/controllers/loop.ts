import type { ObjectStorage, StoreChange } from '../storage/store.ts';

/**
 * Calls `work` soon after the changes that `concerns` selects: never during a write, and once for many changes of one
 * key. Returns the function that ends it.
 */
export function runKeyedLoop(
  storage: ObjectStorage,
  concerns: (change: StoreChange) => readonly string[],
  work: (key: string) => void,
  first: readonly string[] = [],
): () => void {
  const waiting = new Set<string>(first);
  let timer: NodeJS.Immediate | undefined;
  const drain = (): void => {
    timer = undefined;
    const keys = [...waiting];
    waiting.clear();
    for (const key of keys) work(key);
  };
  const wake = (): void => {
    if (waiting.size > 0) timer ??= setImmediate(drain);
  };
  wake();
  const unsubscribe = storage.onChange((change) => {
    for (const key of concerns(change)) waiting.add(key);
    wake();
  });
  return () => {
    unsubscribe();
    if (timer) clearImmediate(timer);
  };
}
