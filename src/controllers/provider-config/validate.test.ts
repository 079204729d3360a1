import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../test/support/builders.ts';
import { addressesPerCluster, validateSpec } from './validate.ts';

type Raw = Record<string, Record<string, unknown>>;
const spoiled = (change: (raw: Raw) => void) =>
  validateSpec(
    aSpec((raw) => change(raw as Raw)),
    ['small'],
  );

describe('what is wrong with a ProviderConfig', () => {
  it('is nothing for a good one', () => {
    expect(spoiled(() => {})).toEqual([]);
  });

  it.each([
    ['a Talos version that is too old', (raw: Raw) => (raw['talos']!['version'] = '1.9.4'), 'talos.version', /1\.12/],
    ['a Talos version that is too new', (raw: Raw) => (raw['talos']!['version'] = '1.15.0'), 'talos.version', /1\.14/],
    [
      'a Kubernetes version that this Talos cannot run',
      (raw: Raw) => (raw['kubernetes']!['versions'] = [{ version: '1.29.1' }]),
      'kubernetes.versions[0].version',
      /1\.31/,
    ],
    [
      'an offer of deprecated versions only',
      (raw: Raw) => (raw['kubernetes']!['versions'] = [{ version: '1.35.4', deprecated: true }]),
      'kubernetes.versions',
      /at least one/,
    ],
    [
      'an even number of control planes',
      (raw: Raw) => (raw['controlPlane']!['replicas'] = 4),
      'controlPlane.replicas',
      /1, 3 or 5/,
    ],
    ['a size that does not exist', (raw: Raw) => (raw['controlPlane']!['size'] = 'huge'), 'controlPlane.size', /small/],
    [
      'a pool that is too small for one cluster',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.20-192.168.10.22']),
      'network.addressPool',
      /3 addresses.*needs 4/,
    ],
    [
      'a pool outside of the subnet',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.11.20-192.168.11.40']),
      'network.addressPool[0]',
      /192\.168\.10\.0 to 192\.168\.10\.255/,
    ],
    [
      'a pool that holds the gateway',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.1-192.168.10.40']),
      'network.addressPool[0]',
      /gateway/,
    ],
    [
      'a pool that runs backwards',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.40-192.168.10.20']),
      'network.addressPool[0]',
      /range like/,
    ],
    [
      'the broadcast address in the pool',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.200-192.168.10.255']),
      'network.addressPool[0]',
      /first and last/,
    ],
    [
      'a gateway that is no IPv4 address',
      (raw: Raw) => (raw['network']!['gateway'] = '192.168.10.256'),
      'network.gateway',
      /not an IPv4 address/,
    ],
    [
      'pod and service ranges that overlap',
      (raw: Raw) => (raw['network']!['serviceSubnets'] = ['10.244.128.0/20']),
      'network.serviceSubnets[0]',
      /network\.podSubnets\[0\]/,
    ],
    [
      'a pod range that covers the nodes',
      (raw: Raw) => (raw['network']!['podSubnets'] = ['192.168.0.0/16']),
      'network.podSubnets[0]',
      /nodes' subnet/,
    ],
  ])('is named with its field: %s', (_, change, field, words) => {
    const findings = spoiled(change);
    expect(findings.map((finding) => finding.field)).toEqual([field]);
    expect(findings[0]?.message).toMatch(words);
  });

  it('counts one address for each node and one for an endpoint of our own', () => {
    const pools = { workerPools: [{ name: 'work', replicas: 2, size: 'small' }] };
    expect(addressesPerCluster(aSpec((raw) => Object.assign(raw, pools)))).toBe(6);
    expect(
      addressesPerCluster(
        aSpec((raw) => Object.assign((raw as Raw)['controlPlane']!, { endpoint: 'k8s.example.org' })),
      ),
    ).toBe(3);
  });
});
