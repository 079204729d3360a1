import { Changes } from './changes.ts';
import type { OpenFile } from './open-file.ts';

interface Lock {
  /** An open file has it, as with `flock`, as long as any descriptor of it is open. */
  holder: OpenFile | undefined;
  readonly changes: Changes;
}

const locks = new WeakMap<object, Lock>();

function lockOf(file: OpenFile): Lock {
  const node = file.node ?? file;
  const lock = locks.get(node) ?? { holder: undefined, changes: new Changes() };
  locks.set(node, lock);
  return lock;
}

/** Takes the lock of an open file, if it is free. Taking it twice has no effect. */
export function tryLock(file: OpenFile): boolean {
  const lock = lockOf(file);
  lock.holder ??= file;
  return lock.holder === file;
}

export function unlock(file: OpenFile): void {
  const lock = lockOf(file);
  if (lock.holder !== file) return;
  lock.holder = undefined;
  lock.changes.tell();
}

/** Resolves when a lock is released. */
export const awaitUnlock = (file: OpenFile, signal: AbortSignal): Promise<void> => lockOf(file).changes.next(signal);
