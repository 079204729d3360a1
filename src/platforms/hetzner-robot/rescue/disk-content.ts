import type { LsblkDevice } from './lsblk-device.ts';

/** Signatures of partition tables. A table alone is no content; every GPT also has a protective MBR. */
const partitionTables = new Set(['gpt', 'dos', 'PMBR']);

/** The content of a disk for users, e.g. `ext4 on nvme0n1p3, named "root"`; empty: the disk is blank. */
export function describeDiskContent(disk: string, rows: readonly LsblkDevice[]): string[] {
  const found = rows.flatMap((row) => describeRow(row, row.path === disk));
  const table = rows
    .find((row) => row.path === disk)
    ?.signatures.find((type) => partitionTables.has(type) && type !== 'PMBR');
  return found.length === 0 && table !== undefined ? [`an empty partition table (${table})`] : found;
}

function describeRow({ path, type, values, signatures }: LsblkDevice, isWhole: boolean): string[] {
  const name = path.replace(/^\/dev\//, '');
  const label = values['LABEL'] || values['PARTLABEL'] || '';
  const ending = [
    label === '' ? '' : `, named "${label.slice(0, 64)}"`,
    values['MOUNTPOINT'] ? `, mounted at ${values['MOUNTPOINT'].slice(0, 64)}` : '',
  ].join('');
  const types = new Set([...signatures, ...(values['FSTYPE'] ? [values['FSTYPE']] : [])]);
  const content = [...types]
    .filter((one) => !isWhole || !partitionTables.has(one))
    .map((one) => `${one} on ${name}${ending}`);
  if (content.length > 0) return content;
  // A partition without a known signature counts as content, too.
  return type === 'part' ? [`a partition ${name}${ending}`] : [];
}
