import type { OpenFile } from './open-file.ts';

/** The owners of file locks, as with `flock`: an open file, as long as any descriptor of it is open. */
const lockHolders = new WeakMap<object, OpenFile>();
const lockWaiters = new WeakMap<object, Set<() => void>>();

/** Takes the lock of an open file, if it is free. Taking it twice has no effect. */
export function tryLock(file: OpenFile): boolean {
  const node = file.node ?? file;
  const holder = lockHolders.get(node);
  if (holder !== undefined && holder !== file) return false;
  lockHolders.set(node, file);
  return true;
}

export function unlock(file: OpenFile): void {
  const node = file.node ?? file;
  if (lockHolders.get(node) !== file) return;
  lockHolders.delete(node);
  const all = [...(lockWaiters.get(node) ?? [])];
  lockWaiters.delete(node);
  for (const wake of all) wake();
}

/** Resolves when a lock is released. */
export function awaitUnlock(file: OpenFile, signal: AbortSignal): Promise<void> {
  const node = file.node ?? file;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const list = lockWaiters.get(node) ?? new Set();
    lockWaiters.set(node, list);
    const stop = (): void => {
      list.delete(wake);
      reject(signal.reason);
    };
    const wake = (): void => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    list.add(wake);
  });
}
