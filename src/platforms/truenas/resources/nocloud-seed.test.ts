import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SecretString } from '../../../lib/secret-string.ts';
import { buildSeed, emptiedSeed } from './nocloud-seed.ts';

const content = {
  hostname: 'shop-cp-0',
  instanceId: '23cc2129-a257-8644-95e0-289d55c69704',
  link: { mac: '02:aa:bb:cc:dd:ee', addresses: ['192.168.10.21/24'], gateway: '192.168.10.1' },
  machineConfig: new SecretString('version: v1alpha1\nmachine:\n  token: abc\n'),
};

/** Files are stored in whole sectors, ordered by name. This finds each by its first bytes. */
const fileThatBegins = (image: Buffer, text: string) => {
  const at = image.indexOf(text);
  return image.toString('utf8', at, image.indexOf(0, at));
};

describe('the seed', () => {
  it('gives Talos its address by MAC before it reads its configuration', () => {
    const { image } = buildSeed(content);
    expect(parse(fileThatBegins(image, 'version: 2'))).toEqual({
      version: 2,
      ethernets: {
        node: {
          match: { macaddress: '02:aa:bb:cc:dd:ee' },
          dhcp4: false,
          addresses: ['192.168.10.21/24'],
          gateway4: '192.168.10.1',
        },
      },
    });
  });

  it('is large enough for the probing of Talos 1.12, however short the configuration, and reports its size', () => {
    const { image } = buildSeed({ ...content, machineConfig: new SecretString('') });
    expect(image.length).toBe(128 * 1024);
    expect(image.readUInt32LE(16 * 2048 + 80) * 2048).toBe(image.length);
    const large = buildSeed({ ...content, machineConfig: new SecretString('#'.repeat(200_000)) });
    expect(large.image.length).toBeGreaterThan(200_000);
  });

  it('T39: makes Talos use DHCP where a DHCP server has its address', () => {
    const link = { mac: content.link.mac, addresses: [], dhcp: { routeMetric: 1024 }, mtu: 1400 };
    const { image } = buildSeed({ ...content, link });
    expect(parse(fileThatBegins(image, 'version: 2')).ethernets.node).toEqual({
      ...{ match: { macaddress: '02:aa:bb:cc:dd:ee' }, dhcp4: true, mtu: 1400 },
    });
  });

  it('names the host and contains the machine configuration unchanged: Talos decides by its first line', () => {
    const { image } = buildSeed(content);
    expect(parse(fileThatBegins(image, 'instance-id'))).toEqual({
      'instance-id': content.instanceId,
      'local-hostname': 'shop-cp-0',
    });
    expect(fileThatBegins(image, 'version: v1alpha1')).toBe(content.machineConfig.reveal());
  });

  it('has a name that follows from its content, so that a file in use is never overwritten', () => {
    const first = buildSeed(content);
    expect(first.fileName).toMatch(/^seed-[0-9a-f]{16}\.iso$/);
    expect(buildSeed(content).fileName).toBe(first.fileName);
    expect(buildSeed({ ...content, machineConfig: new SecretString('version: v1alpha1\n') }).fileName).not.toBe(
      first.fileName,
    );
  });
});

it('T34: the empty disc that replaces a seed has another label, and is smaller than the smallest seed', () => {
  const smallest = buildSeed({ ...content, machineConfig: new SecretString('') }).image;
  expect(emptiedSeed.length).toBeLessThan(smallest.length);
  expect(emptiedSeed.toString('latin1', 32_768 + 40, 32_768 + 47)).toBe('emptied');
});
