import { describe, expect, it } from 'vitest';
import { issueServingCertificate } from '../../../../test/world/truenas/protocol/serving-certificate.ts';
import { systemEndpointOf, TrueNasConfig } from './config.ts';

const { ca: caBundle } = await issueServingCertificate('nas', 'test');
const valid = {
  url: 'nas.example.org',
  credentialsRef: { name: 'nas' },
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
};
const sizeWith = (...disks: object[]) => ({ sizes: [{ ...valid.sizes[0], disks }] });
const seventeen = Array.from({ length: 17 }, (_, i) => ({ name: `d${i}`, sizeGiB: 1 }));
const issuesOf = (change: object) => {
  const result = TrueNasConfig.safeParse({ ...valid, ...change });
  return result.success ? [] : result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
};

describe('spec.truenas', () => {
  it('sets defaults and may be parsed again, as each step does', () => {
    const once = TrueNasConfig.parse(valid);
    expect(once.datasetPrefix).toBe('talos');
    expect(TrueNasConfig.parse(once)).toEqual(once);
  });

  it.each([
    ['nas.example.org', 'nas.example.org'],
    ['nas.example.org:8443', 'nas.example.org:8443'],
    ['https://nas.example.org/', 'nas.example.org'],
    ['wss://10.0.0.5:443/api/current', '10.0.0.5'],
    ['wss://[fd00::5]:8443', '[fd00::5]:8443'],
  ])('T1: accepts %s in any form', (url, host) => {
    expect(issuesOf({ url })).toEqual([]);
    expect(systemEndpointOf({ url })).toEqual({
      host,
      socketUrl: `wss://${host}/api/current`,
      uploadUrl: `https://${host}/_upload`,
    });
  });

  it.each(['ws://nas', 'http://nas.example.org'])('S39: refuses %s, because the key would be revoked', (url) => {
    expect(issuesOf({ url }).join()).toMatch(/url: use wss.*revokes an API key/);
  });

  it.each(['', 'nas/../x', 'user:password@nas', 'nas.example.org/other', 'nas:999999'])(
    'T54: refuses %j as an address',
    (url) => {
      expect(issuesOf({ url }).join()).toMatch(/^url: must be a host name/);
    },
  );

  it.each<[object, string, string]>([
    [{ pool: 'tank/vms' }, 'pool', 'S36: a dataset is not a pool'],
    [{ datasetPrefix: '../x' }, 'datasetPrefix', 'a path that leads elsewhere'],
    [{ datasetPrefix: 'a//b' }, 'datasetPrefix', 'an empty segment'],
    [{ caBundle: 'not a certificate' }, 'caBundle', 'no certificate in it'],
    [{ tlsFingerprint: 'AB:CD' }, 'tlsFingerprint', 'no SHA-256'],
    [{ tlsFingerprint: 'ab'.repeat(32), caBundle }, 'tlsFingerprint', 'T3: two proofs, of which one would count'],
    [{ sizes: [] }, 'sizes', 'nothing to choose from'],
    [{ sizes: [{ ...valid.sizes[0], memoryMiB: 1024 }] }, 'sizes.0.memoryMiB', 'too little for Talos'],
    [{ sizes: [{ ...valid.sizes[0], cpus: 256 }] }, 'sizes.0.cpus', 'S59: more than TrueNAS can give'],
    [{ sizes: [{ ...valid.sizes[0], cpus: 6, sockets: 2, threads: 2 }] }, 'sizes.0.cpus', 'half a core'],
    [{ sizes: [{ ...valid.sizes[0], cpuModel: 'qemu64' }] }, 'sizes.0.cpuModel', 'S44: Talos halts on it'],
    [{ sizes: [{ ...valid.sizes[0], cpuModel: 'Opteron_G3-v1' }] }, 'sizes.0.cpuModel', 'S44: Talos halts on it'],
    [{ sizes: [{ ...valid.sizes[0], diskGiB: 10 }] }, 'sizes.0.diskGiB', 'S20: too little for images'],
    [sizeWith({ name: 'Data', sizeGiB: 10 }), 'sizes.0.disks.0.name', 'a name that Talos would not take'],
    [sizeWith({ name: 'data', sizeGiB: 0 }), 'sizes.0.disks.0.sizeGiB', 'no room at all'],
    [sizeWith({ name: 'data', sizeGiB: 1.5 }), 'sizes.0.disks.0.sizeGiB', 'a part of a GiB'],
    [sizeWith({ name: 'data', sizeGiB: 9, pool: 'fast/vms' }), 'sizes.0.disks.0.pool', 'S36: a dataset is not a pool'],
    [sizeWith({ name: 'data', sizeGiB: 9 }, { name: 'data', sizeGiB: 9 }), 'sizes.0.disks', 'two of one name'],
    [sizeWith(...seventeen), 'sizes.0.disks', 'more than letters for them'],
    [{ mtu: 576 }, 'mtu', 'IPv6 wants more'],
    [{ sizes: [{ ...valid.sizes[0], cards: [{ bridge: 'a,b' }] }] }, 'sizes.0.cards.0.bridge', 'no name'],
    [{ bridges: 'br0' }, '', 'a misspelt field is not ignored'],
  ])('T53: refuses %j: %s, %s', (change, path) => {
    expect(issuesOf(change).join()).toMatch(new RegExp(`^${path}:`));
  });
});
