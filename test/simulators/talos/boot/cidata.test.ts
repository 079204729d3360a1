import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { buildIso } from '../../../../src/lib/iso9660.ts';
import { isCloudData, parseCloudData } from '../../../world/talos/boot/cidata.ts';
import { type IsoDisc, readIsoDisc } from '../../../world/talos/boot/iso9660.ts';

const disc = (files: Readonly<Record<string, string | Buffer>>, label = 'cidata'): IsoDisc => ({
  label,
  files: new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
});

describe('user-data', () => {
  it.each([
    ['version: v1alpha1\n', 'version: v1alpha1\n'],
    ['#cloud-config\nusers: []\n', undefined],
    ['', undefined],
  ])('of %j is the configuration %j', (content, expected) => {
    expect(parseCloudData(disc({ 'user-data': content })).userData).toBe(expected);
  });

  it('may be missing, with everything else: then maintenance mode follows', () => {
    expect(parseCloudData(disc({}))).toEqual({ userData: undefined, metadata: {}, links: [] });
  });
});

describe('meta-data and network-config', () => {
  it('are parsed as YAML, and stop the node when they are invalid', () => {
    expect(parseCloudData(disc({ 'meta-data': 'local-hostname: one\ninstance-id: 7\n' })).metadata).toEqual({
      'local-hostname': 'one',
      'instance-id': '7',
    });
    expect(() => parseCloudData(disc({ 'meta-data': 'a: b: c\n' }))).toThrow(/failed to unmarshal meta-data/);
    expect(() => parseCloudData(disc({ 'network-config': '- a\n- b\n' }))).toThrow(
      /failed to unmarshal network-config/,
    );
    expect(() => parseCloudData(disc({ 'network-config': 'version: 3\n' }))).toThrow(/version=3 is not supported/);
  });

  it.each([
    [
      'version 2 with a MAC match',
      'version: 2\nethernets:\n  any:\n    match: {macaddress: "02:AB:00:00:00:01"}\n    addresses: [10.0.0.5/24]\n',
      [{ mac: '02:ab:00:00:00:01', addresses: ['10.0.0.5/24'], dhcp: false }],
    ],
    [
      'version 2 by name, in a network key',
      'network:\n  version: 2\n  ethernets:\n    eth0: {dhcp4: true}\n',
      [{ name: 'eth0', addresses: [], dhcp: true }],
    ],
  ])('gives links their addresses: %s', (_title, text, links) => {
    expect(parseCloudData(disc({ 'network-config': text })).links).toEqual(links);
  });
});

describe('a disc image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'talos-iso-'));
  const path = join(folder, 'disc.iso');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is read with its label in lower case and its long names', () => {
    const large = Buffer.alloc(512 << 10, 'x');
    writeFileSync(
      path,
      buildIso({
        label: 'cidata',
        files: { 'user-data': large, 'meta-data': Buffer.from('a: b\n'), 'network-config': Buffer.alloc(0) },
      }),
    );
    const read = readIsoDisc(path);
    expect(read && isCloudData(read)).toBe(true);
    expect([...(read?.files.keys() ?? [])].sort()).toEqual(['meta-data', 'network-config', 'user-data']);
    expect(read?.files.get('user-data')?.equals(large)).toBe(true);
    expect(read?.files.get('network-config')?.length).toBe(0);
  });

  it('is not detected when its bytes are invalid or too few', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(64 << 10), Buffer.alloc(64 << 10, 'CD001')]) {
      writeFileSync(path, bytes);
      expect(readIsoDisc(path)).toBeUndefined();
    }
    expect(readIsoDisc(join(folder, 'missing.iso'))).toBeUndefined();
  });

  it.each([
    ['cidata', true],
    ['CIDATA', true],
    ['Cidata', false],
    ['config-2', false],
  ])('is cloud data by its label alone: %s', (label, expected) => {
    expect(isCloudData(disc({}, label))).toBe(expected);
  });
});
