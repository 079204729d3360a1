import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildIso } from './iso9660.ts';

/** A small independent reader that shares no code with the writer. */
function read(image: Buffer) {
  const descriptor = (type: number) => {
    for (let sector = 16; ; sector += 1) {
      const at = sector * 2048;
      if (image.toString('latin1', at + 1, at + 6) !== 'CD001') throw new Error(`sector ${sector} is no descriptor`);
      if (image[at] === type) return image.subarray(at, at + 2048);
      if (image[at] === 255) throw new Error(`no descriptor of type ${type}`);
    }
  };
  const wide = (bytes: Buffer) => Buffer.from(bytes).swap16().toString('utf16le');
  const twice = (bytes: Buffer, at: number) => {
    const value = bytes.readUInt32LE(at);
    if (bytes.readUInt32BE(at + 4) !== value) throw new Error(`the two forms at ${at} differ`);
    return value;
  };
  const list = (volume: Buffer, nameOf: (record: Buffer) => string) => {
    const root = volume.subarray(156, 190);
    const start = twice(root, 2) * 2048;
    const end = start + twice(root, 10);
    const files: Record<string, Buffer> = {};
    for (let at = start; at < end; ) {
      const length = image[at] ?? 0;
      if (length === 0) {
        at = (Math.floor(at / 2048) + 1) * 2048;
        continue;
      }
      if (Math.floor(at / 2048) !== Math.floor((at + length - 1) / 2048)) throw new Error('record crosses a sector');
      const record = image.subarray(at, at + length);
      const from = twice(record, 2) * 2048;
      if ((record[25]! & 2) === 0) files[nameOf(record)] = image.subarray(from, from + twice(record, 10));
      at += length;
    }
    return files;
  };
  const identifier = (record: Buffer) => record.subarray(33, 33 + record[32]!);
  const rockRidgeName = (record: Buffer) => {
    let at = 33 + record[32]! + (record[32]! % 2 === 0 ? 1 : 0);
    for (; at + 4 <= record.length; at += record[at + 2]!) {
      if (record.toString('latin1', at, at + 2) === 'NM')
        return record.toString('latin1', at + 5, at + record[at + 2]!);
    }
    throw new Error('no NM entry');
  };
  const primary = descriptor(1);
  const joliet = descriptor(2);
  return {
    label: primary.toString('latin1', 40, 72).trimEnd(),
    jolietLabel: wide(joliet.subarray(40, 72)).trimEnd(),
    sectors: twice(primary, 80),
    short: list(primary, (record) => identifier(record).toString('latin1')),
    rockRidge: list(primary, rockRidgeName),
    joliet: list(joliet, (record) => wide(identifier(record))),
  };
}

const head = fc.constantFrom(...'abcXYZ019');
const tail = fc.string({ unit: fc.constantFrom(...'abcdefghXYZ0189._-'), maxLength: 63 });
const name = fc.tuple(head, tail).map(([first, rest]) => first + rest);
const content = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 2040, maxLength: 4100 }));
const files = fc.dictionary(name, content, { maxKeys: 40, noNullPrototype: true });

const seed = {
  label: 'cidata',
  files: {
    'user-data': Buffer.from('version: v1alpha1\n'.repeat(500)),
    'meta-data': Buffer.from('local-hostname: a\n'),
    'network-config': Buffer.from('version: 2\n'),
  },
};

describe('a disc image', () => {
  it('returns every file under its exact name, through Rock Ridge and through Joliet', async () => {
    await fc.assert(
      fc.property(files, (input) => {
        const disc = read(buildIso({ label: 'cidata', files: input }));
        const asText = (all: Record<string, Uint8Array>) =>
          Object.fromEntries(Object.entries(all).map(([key, value]) => [key, Buffer.from(value).toString('latin1')]));
        expect(asText(disc.rockRidge)).toEqual(asText(input));
        expect(asText(disc.joliet)).toEqual(asText(input));
      }),
    );
  });

  it('has unique 8.3 names for readers without extensions', async () => {
    await fc.assert(
      fc.property(files, (input) => {
        const names = Object.keys(read(buildIso({ label: 'x', files: input })).short);
        expect(names).toHaveLength(Object.keys(input).length);
        for (const one of names) expect(one).toMatch(/^[A-Z0-9_]{1,8}\.[A-Z0-9_]{0,3};1$/);
      }),
    );
  });

  it('contains its own size, and its label in the given case', () => {
    const image = buildIso(seed);
    const disc = read(image);
    expect(disc.sectors * 2048).toBe(image.length);
    expect([disc.label, disc.jolietLabel]).toEqual(['cidata', 'cidata']);
  });

  it('is the same for the same content, whatever the order of the files, so that its hash can name it', () => {
    const turned = { label: 'cidata', files: Object.fromEntries(Object.entries(seed.files).reverse()) };
    expect(buildIso(turned).equals(buildIso(seed))).toBe(true);
    expect(buildIso({ ...seed, modifiedAt: new Date('2026-11-21T09:30:00Z') }).equals(buildIso(seed))).toBe(false);
  });

  it('rejects content that it cannot represent instead of truncating it', () => {
    expect(() => buildIso({ label: 'seventeen_letters', files: {} })).toThrow(/1 to 16/);
    expect(() => buildIso({ label: '', files: {} })).toThrow(RangeError);
    for (const bad of ['', 'a/b', '../x', 'x'.repeat(65), 'ü', '.hidden']) {
      expect(() => buildIso({ label: 'x', files: { [bad]: Buffer.alloc(0) } }), bad).toThrow(RangeError);
    }
  });
});
