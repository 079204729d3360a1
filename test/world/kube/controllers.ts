import type { Storage } from './store.ts';

/** What the controller-manager does. */
export function runControllers(_storage: Storage): () => void {
  return () => {};
}
