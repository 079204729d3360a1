import type { ReservationRequest } from './reservation-table.ts';

/** TrueNAS refuses a disk above this share of the available space (middleware: plugins/pool_/dataset.py). */
export const maxDiskShare = 0.8;
/** ZFS reserves a little more than the size of a disk, for block metadata. */
export const zfsMetadataFactor = 1.02;

/** Bytes that disks take when they are created in this order, and bytes that have to be free beside them. */
export function toReservationRequest(disks: readonly number[]): ReservationRequest {
  let takes = 0;
  let needs = 0;
  for (const bytes of disks) {
    needs = Math.max(needs, takes + bytes / maxDiskShare);
    takes += bytes * zfsMetadataFactor;
  }
  return { takes, spare: Math.max(0, needs - takes) };
}
