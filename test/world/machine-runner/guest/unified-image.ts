/** Parts of a unified kernel image, by the names of their sections. */
export type Sections = Readonly<Record<string, Buffer>>;

const fileAlignment = 512;
const sectionAlignment = 4096;
const headerBytes = 40;
/** Initialized data, readable. */
const characteristics = 0x4000_0040;

/**
 * A program for UEFI firmware: kernel, initramfs and command line as sections after systemd's stub, as in Talos's own
 * images (uapi-group.org: Unified Kernel Image; PE format). Throws a RangeError for an invalid stub.
 */
export function buildUnifiedImage(stub: Buffer, sections: Sections): Buffer {
  const pe = stub.length > 64 ? stub.readUInt32LE(0x3c) : 0;
  if (stub.toString('latin1', pe, pe + 4) !== 'PE\0\0') throw new RangeError('the stub is no PE program');
  const optional = pe + 24;
  const table = optional + stub.readUInt16LE(pe + 20);
  const count = stub.readUInt16LE(pe + 6);
  const names = Object.keys(sections);
  if (table + (count + names.length) * headerBytes > stub.readUInt32LE(optional + 60)) {
    throw new RangeError('the stub has no room for more sections');
  }
  const head = Buffer.concat([stub], align(stub.length, fileAlignment));
  const parts = [head];
  let position = head.length;
  let address = align(endOf(stub, table, count), sectionAlignment);
  names.forEach((name, index) => {
    const content = sections[name] ?? Buffer.alloc(0);
    const size = align(content.length, fileAlignment);
    const at = table + (count + index) * headerBytes;
    head.fill(0, at, at + headerBytes);
    head.write(name, at, 8, 'latin1');
    head.writeUInt32LE(content.length, at + 8);
    head.writeUInt32LE(address, at + 12);
    head.writeUInt32LE(size, at + 16);
    head.writeUInt32LE(position, at + 20);
    head.writeUInt32LE(characteristics, at + 36);
    parts.push(Buffer.concat([content], size));
    position += size;
    address = align(address + content.length, sectionAlignment);
  });
  head.writeUInt16LE(count + names.length, pe + 6);
  head.writeUInt32LE(address, optional + 56);
  head.writeUInt32LE(0, optional + 64);
  return Buffer.concat(parts);
}

const align = (value: number, to: number): number => Math.ceil(value / to) * to;

/** The address after the last section. */
function endOf(stub: Buffer, table: number, count: number): number {
  const ends = Array.from({ length: count }, (_, index) => {
    const at = table + index * headerBytes;
    return stub.readUInt32LE(at + 12) + stub.readUInt32LE(at + 8);
  });
  return Math.max(...ends);
}
