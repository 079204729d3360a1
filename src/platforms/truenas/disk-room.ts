import type { Want } from './promise-book.ts';

/** TrueNAS refuses a disk that is larger than this part of what is available (middleware: plugins/pool_/dataset.py). */
export const largestPart = 0.8;
/** ZFS reserves a little more than the size of a disk, for what it notes about its blocks. */
export const withNotes = 1.02;

/** What disks that are made one after the other take, and what TrueNAS has to find free beside them. Sizes in bytes. */
export function roomFor(disks: readonly number[]): Want {
  let takes = 0;
  let needs = 0;
  for (const bytes of disks) {
    needs = Math.max(needs, takes + bytes / largestPart);
    takes += bytes * withNotes;
  }
  return { takes, spare: Math.max(0, needs - takes) };
}
