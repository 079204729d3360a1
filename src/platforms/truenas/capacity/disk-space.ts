import type { ReservationRequest } from './reservation-table.ts';

/** TrueNAS refuses a disk that is larger than this part of what is available (middleware: plugins/pool_/dataset.py). */
export const maxDiskShare = 0.8;
/** ZFS reserves a little more than the size of a disk, for what it notes about its blocks. */
export const zfsMetadataFactor = 1.02;

/** What disks that are made one after the other take, and what TrueNAS has to find free beside them. Sizes in bytes. */
export function toReservationRequest(disks: readonly number[]): ReservationRequest {
  let takes = 0;
  let needs = 0;
  for (const bytes of disks) {
    needs = Math.max(needs, takes + bytes / maxDiskShare);
    takes += bytes * zfsMetadataFactor;
  }
  return { takes, spare: Math.max(0, needs - takes) };
}
