import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** A mounted disc: its label and the files of its root directory. */
export interface IsoDisc {
  readonly label: string;
  readonly files: ReadonlyMap<string, Buffer>;
}

const sector = 2048;
const maximumFiles = 64;
const maximumFileBytes = 16 << 20;

interface Volume {
  readonly label: string;
  readonly joliet: boolean;
  readonly root: Buffer;
}

/**
 * Reads an ISO 9660 image (ECMA-119) like Linux: Rock Ridge names when the primary tree has them, else Joliet, else the
 * plain upper-case names without version. Undefined when the bytes are not such an image. Only the root directory is
 * read.
 */
export function readIsoDisc(path: string): IsoDisc | undefined {
  if (!existsSync(path)) return undefined;
  const file = openSync(path, 'r');
  try {
    const size = fstatSync(file).size;
    const read = (offset: number, length: number): Buffer => {
      if (offset + length > size) return Buffer.alloc(0);
      const buffer = Buffer.alloc(length);
      readSync(file, buffer, 0, length, offset);
      return buffer;
    };
    return mount(read);
  } finally {
    closeSync(file);
  }
}

function mount(read: (offset: number, length: number) => Buffer): IsoDisc | undefined {
  const volumes = readVolumes(read);
  const primary = volumes.find((volume) => !volume.joliet);
  if (!primary) return undefined;
  const joliet = volumes.find((volume) => volume.joliet);
  const rock = directory(primary, read);
  const entries = rock.some((entry) => entry.rockRidge) || !joliet ? rock : directory(joliet, read);
  const files = new Map<string, Buffer>();
  for (const entry of entries.slice(0, maximumFiles)) {
    if (entry.length <= maximumFileBytes) files.set(entry.name, read(entry.extent * sector, entry.length));
  }
  return { label: joliet?.label || primary.label, files };
}

function readVolumes(read: (offset: number, length: number) => Buffer): Volume[] {
  const volumes: Volume[] = [];
  for (let index = 16; index < 64; index += 1) {
    const bytes = read(index * sector, sector);
    if (bytes.length < sector || bytes.toString('latin1', 1, 6) !== 'CD001' || bytes[0] === 255) break;
    const escapes = bytes.toString('latin1', 88, 91);
    const joliet = bytes[0] === 2 && (escapes === '%/@' || escapes === '%/C' || escapes === '%/E');
    if (bytes[0] !== 1 && !joliet) continue;
    const label = joliet ? utf16(bytes.subarray(40, 72)) : bytes.toString('latin1', 40, 72);
    volumes.push({ label: label.replace(/[\0 ]+$/, ''), joliet, root: bytes.subarray(156, 190) });
  }
  return volumes;
}

interface Entry {
  readonly name: string;
  readonly extent: number;
  readonly length: number;
  readonly rockRidge: boolean;
}

function directory(volume: Volume, read: (offset: number, length: number) => Buffer): Entry[] {
  const bytes = read(volume.root.readUInt32LE(2) * sector, volume.root.readUInt32LE(10));
  const entries: Entry[] = [];
  let at = 0;
  while (at < bytes.length) {
    const length = bytes[at] ?? 0;
    if (length === 0) {
      // A record never crosses a sector: the remaining bytes are padding.
      at = (Math.floor(at / sector) + 1) * sector;
      continue;
    }
    const entry = record(bytes.subarray(at, at + length), volume.joliet);
    if (entry) entries.push(entry);
    at += length;
  }
  return entries;
}

function record(bytes: Buffer, joliet: boolean): Entry | undefined {
  const nameLength = bytes[32] ?? 0;
  const raw = bytes.subarray(33, 33 + nameLength);
  const isDirectory = ((bytes[25] ?? 0) & 2) !== 0;
  if (isDirectory || (nameLength === 1 && (raw[0] ?? 2) < 2)) return undefined;
  const systemUse = bytes.subarray(33 + nameLength + ((nameLength + 1) % 2));
  const alternate = joliet ? undefined : rockRidgeName(systemUse);
  const plain = (joliet ? utf16(raw) : raw.toString('latin1')).replace(/;\d+$/, '').replace(/\.$/, '');
  return {
    name: alternate ?? (joliet ? plain : plain.toLowerCase()),
    extent: bytes.readUInt32LE(2),
    length: bytes.readUInt32LE(10),
    rockRidge: alternate !== undefined,
  };
}

/** Concatenates the `NM` entries of the system use area (IEEE P1282). */
function rockRidgeName(area: Buffer): string | undefined {
  let name: string | undefined;
  for (let at = 0; at + 4 <= area.length; ) {
    const length = area[at + 2] ?? 0;
    if (length < 4) break;
    if (area.toString('latin1', at, at + 2) === 'NM') name = (name ?? '') + area.toString('utf8', at + 5, at + length);
    at += length;
  }
  return name;
}

function utf16(bytes: Buffer): string {
  return Buffer.from(bytes).swap16().toString('utf16le');
}
