import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Vendor GUID of all variables that the UEFI specification itself defines (3.3, Globally Defined Variables). */
const efiGlobalGuid = '8be4df61-93ca-11d2-aa0d-00e098032b8c';
/** Non-volatile, with boot service access and runtime access. */
const attributes = Buffer.from([7, 0, 0, 0]);
const devicePathEnd = Buffer.from([0x7f, 0xff, 4, 0]);

/** One node of a device path: its type, and its data. */
function devicePathNode(type: number, subtype: number, data: Buffer): Buffer {
  const head = Buffer.from([type, subtype, 0, 0]);
  head.writeUInt16LE(4 + data.length, 2);
  return Buffer.concat([head, data]);
}

const utf16 = (text: string): Buffer => Buffer.from(`${text}\0`, 'utf16le');

/** The first three parts of a GUID are numbers in little-endian order. */
function guidBytes(guid: string): Buffer {
  const bytes = Buffer.from(guid.replaceAll('-', ''), 'hex');
  return Buffer.concat([
    bytes.subarray(0, 4).reverse(),
    bytes.subarray(4, 6).reverse(),
    bytes.subarray(6, 8).reverse(),
    bytes.subarray(8),
  ]);
}

/** A file on a GPT partition. */
export function efiFilePath(guid: string, file: string): Buffer {
  const disk = Buffer.alloc(38);
  disk.writeUInt32LE(1, 0);
  disk.writeBigUInt64LE(2048n, 4);
  disk.writeBigUInt64LE(204_800n, 12);
  guidBytes(guid).copy(disk, 20);
  disk.set([2, 2], 36);
  return Buffer.concat([devicePathNode(4, 1, disk), devicePathNode(4, 4, utf16(file)), devicePathEnd]);
}

/** IPv4 over a network card. */
export function efiNetworkPath(mac: string): Buffer {
  const card = Buffer.alloc(33);
  Buffer.from(mac.replaceAll(':', ''), 'hex').copy(card);
  card[32] = 1;
  return Buffer.concat([
    devicePathNode(1, 1, Buffer.from([0, 2])),
    devicePathNode(3, 11, card),
    devicePathNode(3, 12, Buffer.alloc(23)),
    devicePathEnd,
  ]);
}

export interface BootMenuEntry {
  readonly label: string;
  readonly path: Buffer;
}

/**
 * Writes a boot menu into a folder, in the format of efivarfs: the entries in their order, and the number of the
 * current entry.
 */
export function writeBootMenu(folder: string, entries: readonly BootMenuEntry[], current: number): void {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, value: Buffer): void =>
    writeFileSync(join(folder, `${name}-${efiGlobalGuid}`), Buffer.concat([attributes, value]));
  entries.forEach(({ label, path }, number) => {
    const head = Buffer.alloc(6);
    head.writeUInt32LE(1, 0);
    head.writeUInt16LE(path.length, 4);
    write(`Boot${number.toString(16).toUpperCase().padStart(4, '0')}`, Buffer.concat([head, utf16(label), path]));
  });
  write('BootOrder', Buffer.from(new Uint16Array(entries.keys()).buffer));
  write('BootCurrent', Buffer.from(Uint16Array.of(current).buffer));
}
