/** The content of a disc image: a volume label and files in its root folder. */
export interface IsoContent {
  /** Volume label: 1 to 16 characters of `A-Z a-z 0-9 _ -`. Its case is kept, so `cidata` stays lower-case. */
  readonly label: string;
  /** Content by name. Names: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, beginning with a letter or digit. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** A smaller volume is padded with zeros to this many bytes. */
  readonly minBytes?: number;
  /** Date of the volume and of every file. A fixed date by default: equal input gives equal bytes. */
  readonly modifiedAt?: Date;
}

const sectorBytes = 2048;
const systemAreaSectors = 16;
const fixedDate = new Date('2000-01-01T00:00:00Z');

interface IsoFile {
  /** The given name; Linux shows it, through Rock Ridge and through Joliet. */
  readonly name: string;
  /** The 8.3 name of ISO 9660 level 1, for readers without either extension. */
  readonly shortName: string;
  readonly content: Uint8Array;
}

/** The positions of all parts, in sectors. */
interface Layout {
  readonly pathTables: { readonly primary: [number, number]; readonly joliet: [number, number] };
  readonly primaryRoot: Extent;
  readonly jolietRoot: Extent;
  readonly files: ReadonlyMap<IsoFile, Extent>;
  readonly sectors: number;
}

interface Extent {
  readonly sector: number;
  readonly bytes: number;
}

/**
 * A disc image with Joliet and Rock Ridge names: small seeds for machines, such as the `cidata` volume of cloud-init's
 * NoCloud. Throws a RangeError when the label or a name does not fit.
 *
 * ECMA-119 (ISO 9660), the Joliet specification, IEEE P1281 (SUSP) and P1282 (Rock Ridge). Linux prefers Rock Ridge and
 * always supports it, while Joliet is a build option.
 */
export function buildIso({ label, files, minBytes = 0, modifiedAt = fixedDate }: IsoContent): Buffer {
  if (!/^[A-Za-z0-9_-]{1,16}$/.test(label)) {
    throw new RangeError(
      `a volume label has 1 to 16 letters, digits, "_" or "-": ${JSON.stringify(label)} does not fit`,
    );
  }
  const list = toFiles(files);
  const layout = planLayout(list, modifiedAt, minBytes);
  const image = Buffer.alloc(layout.sectors * sectorBytes);
  const put = (sector: number, bytes: Uint8Array) => image.set(bytes, sector * sectorBytes);

  put(16, volumeDescriptor('primary', label, layout, modifiedAt));
  put(17, volumeDescriptor('joliet', label, layout, modifiedAt));
  put(18, terminator());
  for (const kind of ['primary', 'joliet'] as const) {
    const root = kind === 'primary' ? layout.primaryRoot : layout.jolietRoot;
    put(layout.pathTables[kind][0], pathTable(root.sector, 'little'));
    put(layout.pathTables[kind][1], pathTable(root.sector, 'big'));
    put(root.sector, directory(kind, root, list, layout.files, modifiedAt));
  }
  for (const [file, extent] of layout.files) put(extent.sector, file.content);
  return image;
}

function toFiles(files: IsoContent['files']): readonly IsoFile[] {
  const taken = new Set<string>();
  return Object.keys(files)
    .sort()
    .map((name) => {
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
        throw new RangeError(
          `a file name has 1 to 64 letters, digits, ".", "_" or "-" and begins with a letter or digit: ${JSON.stringify(name)} does not fit`,
        );
      }
      return { name, shortName: shortNameOf(name, taken), content: files[name] ?? new Uint8Array() };
    });
}

/** `user-data` → `USER_DAT.;1`. Names that would collide get a number. */
function shortNameOf(name: string, taken: Set<string>): string {
  const clean = (text: string) => text.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  const dot = name.lastIndexOf('.');
  const stem = clean(dot > 0 ? name.slice(0, dot) : name);
  const extension = dot > 0 ? clean(name.slice(dot + 1)).slice(0, 3) : '';
  for (let count = 0; ; count += 1) {
    const number = count === 0 ? '' : String(count);
    const candidate = `${stem.slice(0, 8 - number.length)}${number}.${extension};1`;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    return candidate;
  }
}

function planLayout(files: readonly IsoFile[], date: Date, leastBytes: number): Layout {
  let next = systemAreaSectors + 3;
  const take = (bytes: number): Extent => {
    const extent = { sector: next, bytes };
    next += Math.ceil(bytes / sectorBytes);
    return extent;
  };
  const tables = Array.from({ length: 4 }, () => take(sectorBytes).sector);
  const [a = 0, b = 0, c = 0, d = 0] = tables;
  const noExtent = { sector: 0, bytes: 0 };
  const extents = new Map<IsoFile, Extent>();
  const primaryRoot = take(directory('primary', noExtent, files, extents, date).length);
  const jolietRoot = take(directory('joliet', noExtent, files, extents, date).length);
  for (const file of files) extents.set(file, take(file.content.length));
  const sectors = Math.max(next, Math.ceil(leastBytes / sectorBytes));
  return { pathTables: { primary: [a, b], joliet: [c, d] }, primaryRoot, jolietRoot, files: extents, sectors };
}

type VolumeKind = 'primary' | 'joliet';

/** ECMA-119 §8.4 and §8.5. Joliet differs in character set and escape sequence only. */
function volumeDescriptor(kind: VolumeKind, label: string, layout: Layout, date: Date): Buffer {
  const joliet = kind === 'joliet';
  const text = (value: string, bytes: number) =>
    joliet ? ucs2(value.padEnd(bytes / 2).slice(0, bytes / 2)) : Buffer.from(value.padEnd(bytes));
  const root = joliet ? layout.jolietRoot : layout.primaryRoot;
  const [little, big] = layout.pathTables[kind];
  const out = Buffer.alloc(sectorBytes);
  out[0] = joliet ? 2 : 1;
  out.write('CD001', 1);
  out[6] = 1;
  text('', 32).copy(out, 8);
  text(label, 32).copy(out, 40);
  both32(layout.sectors).copy(out, 80);
  // "%/E": UCS-2 level 3.
  if (joliet) out.write('%/E', 88);
  both16(1).copy(out, 120);
  both16(1).copy(out, 124);
  both16(sectorBytes).copy(out, 128);
  both32(pathTable(0, 'little').length).copy(out, 132);
  out.writeUInt32LE(little, 140);
  out.writeUInt32BE(big, 148);
  record({ identifier: Buffer.from([0]), extent: root, folder: true, date }).copy(out, 156);
  // Volume set, publisher, preparer, application (128 bytes each), then three file names (37 bytes each).
  for (const at of [190, 318, 446, 574]) text('', 128).copy(out, at);
  for (const at of [702, 739, 776]) text('', 36).copy(out, at);
  longDate(date).copy(out, 813);
  longDate(date).copy(out, 830);
  longDate(undefined).copy(out, 847);
  longDate(undefined).copy(out, 864);
  out[881] = 1;
  return out;
}

function terminator(): Buffer {
  const out = Buffer.alloc(sectorBytes);
  out[0] = 255;
  out.write('CD001', 1);
  out[6] = 1;
  return out;
}

/** There is one folder, so the table has one entry. */
function pathTable(rootSector: number, order: 'little' | 'big'): Buffer {
  const out = Buffer.alloc(10);
  out[0] = 1;
  if (order === 'little') {
    out.writeUInt32LE(rootSector, 2);
    out.writeUInt16LE(1, 6);
  } else {
    out.writeUInt32BE(rootSector, 2);
    out.writeUInt16BE(1, 6);
  }
  return out;
}

function directory(
  kind: VolumeKind,
  self: Extent,
  files: readonly IsoFile[],
  extents: ReadonlyMap<IsoFile, Extent>,
  date: Date,
): Buffer {
  const primary = kind === 'primary';
  const folderMode = posix(0o040555);
  const own = (id: number, systemUse: Buffer[]) =>
    record({ identifier: Buffer.from([id]), extent: self, folder: true, date, systemUse: primary ? systemUse : [] });
  const entries = files
    .map((file) => ({ file, identifier: primary ? Buffer.from(file.shortName) : ucs2(file.name) }))
    .sort((a, b) => Buffer.compare(a.identifier, b.identifier))
    .map(({ file, identifier }) =>
      record({
        identifier,
        extent: extents.get(file) ?? { sector: 0, bytes: file.content.length },
        folder: false,
        date,
        systemUse: primary ? [posix(0o100444), alternateName(file.name)] : [],
      }),
    );
  return inSectors([own(0, [sharingProtocol(), folderMode, rockRidge()]), own(1, [folderMode]), ...entries]);
}

/** A record never crosses a sector boundary (ECMA-119 §6.8.1.1). */
function inSectors(records: readonly Buffer[]): Buffer {
  const sectors: Buffer[][] = [[]];
  let used = 0;
  for (const one of records) {
    if (used + one.length > sectorBytes) {
      sectors.push([]);
      used = 0;
    }
    sectors.at(-1)?.push(one);
    used += one.length;
  }
  return Buffer.concat(sectors.map((list) => Buffer.concat(list, sectorBytes)));
}

interface RecordFields {
  readonly identifier: Buffer;
  readonly extent: Extent;
  readonly folder: boolean;
  readonly date: Date;
  readonly systemUse?: readonly Buffer[];
}

/** A directory record, ECMA-119 §9.1. */
function record({ identifier, extent, folder, date, systemUse = [] }: RecordFields): Buffer {
  const head = Buffer.alloc(33);
  both32(extent.sector).copy(head, 2);
  both32(extent.bytes).copy(head, 10);
  shortDate(date).copy(head, 18);
  head[25] = folder ? 2 : 0;
  both16(1).copy(head, 28);
  head[32] = identifier.length;
  const parts = [head, identifier, Buffer.alloc(identifier.length % 2 === 0 ? 1 : 0), ...systemUse];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const out = Buffer.concat(parts, length + (length % 2));
  out[0] = out.length;
  return out;
}

/** SUSP `SP`: system use entries begin here. */
const sharingProtocol = () => Buffer.from([0x53, 0x50, 7, 1, 0xbe, 0xef, 0]);

/** SUSP `ER`: the extension in use is Rock Ridge. */
const rockRidge = () => Buffer.concat([Buffer.from([0x45, 0x52, 18, 1, 10, 0, 0, 1]), Buffer.from('RRIP_1991A')]);

/** Rock Ridge `PX`: file mode, one link, owner and group root. */
const posix = (mode: number) =>
  Buffer.concat([Buffer.from([0x50, 0x58, 36, 1]), both32(mode), both32(1), both32(0), both32(0)]);

/** Rock Ridge `NM`: the given name. */
const alternateName = (name: string) =>
  Buffer.concat([Buffer.from([0x4e, 0x4d, 5 + name.length, 1, 0]), Buffer.from(name)]);

const ucs2 = (text: string) => Buffer.from(text, 'utf16le').swap16();

/** ISO 9660 writes most numbers twice, little-endian first. */
function both16(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt16LE(value, 0);
  out.writeUInt16BE(value, 2);
  return out;
}

function both32(value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeUInt32LE(value, 0);
  out.writeUInt32BE(value, 4);
  return out;
}

function shortDate(date: Date): Buffer {
  const year = Math.min(255, Math.max(0, date.getUTCFullYear() - 1900));
  return Buffer.from([
    year,
    date.getUTCMonth() + 1,
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
    0,
  ]);
}

/** `YYYYMMDDHHMMSScc` and a zone byte; sixteen zeros for an absent date. */
function longDate(date: Date | undefined): Buffer {
  const digits = date ? `${date.toISOString().replace(/\D/g, '').slice(0, 14)}00` : '0'.repeat(16);
  return Buffer.concat([Buffer.from(digits), Buffer.alloc(1)]);
}
