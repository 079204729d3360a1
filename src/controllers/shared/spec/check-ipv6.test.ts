import { expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import { validateSpec } from './validate-spec.ts';

type Raw = Record<string, Record<string, unknown>>;
const main: Addressing = { pool: 'main', endpoint: 'virtual-address' };
const vswitch: Addressing = { pool: 'private', endpoint: 'virtual-address' };
const own: Addressing = { pool: 'none', endpoint: 'first-node' };

/** The pool is 192.168.10.20 and above. */
const problemsOf = (network: object, { pool, endpoint }: Addressing = main): string[] =>
  validateSpec(
    aSpec((raw) => {
      Object.assign((raw as Raw)['network']!, network);
      if (pool !== 'main') delete (raw as Raw)['network']!['gateway'];
      for (const field of pool === 'none' ? ['addressPool', 'prefix'] : []) delete (raw as Raw)['network']![field];
    }),
    { sizes: ['small'], hosts: [], addressing: { pool, endpoint } },
  ).map(({ field, message }) => `${field}: ${message}`);
const dualStack = {
  podSubnets: ['10.244.0.0/16', 'fd00:1::/56'],
  serviceSubnets: ['10.96.0.0/12', 'fd00:2::/112'],
};

it('IPv6 ranges need IPv6 addresses of the nodes, unless these have addresses of their own', () => {
  expect(problemsOf(dualStack)).toEqual([
    'network.podSubnets[1]: fd00:1::/56 is IPv6, but nodes have no IPv6 addresses. Set network.ipv6.subnet, or omit the range.',
    'network.serviceSubnets[1]: fd00:2::/112 is IPv6, but nodes have no IPv6 addresses. Set network.ipv6.subnet, or omit the range.',
  ]);
  expect(problemsOf(dualStack, vswitch)).toHaveLength(2);
  expect(problemsOf(dualStack, own)).toEqual([]);
  for (const addressing of [main, vswitch])
    expect(problemsOf({ ...dualStack, ipv6: { subnet: 'fd00:10::/64' } }, addressing)).toEqual([]);
});

it.each([
  ['fd00:10::/64', 'fe80::1', []],
  ['fd00:10::/96', 'fd00:10::1', []],
  [
    'fd00:10::/64',
    'fd00:11::1',
    ['network.ipv6.gateway: fd00:11::1 is neither in fd00:10::/64 nor a link-local address. Correct it.'],
  ],
  [
    'fd00:10::/64',
    '192.168.10.1',
    ['network.ipv6.gateway: 192.168.10.1 is not an IPv6 address. Use an address like fd00:10::1 or fe80::1.'],
  ],
  [
    'fd00:10::/64',
    'fd00:10::c0a8:a14',
    [
      'network.ipv6.gateway: fd00:10::c0a8:a14 is the IPv6 address of an address of network.addressPool. Use another one.',
    ],
  ],
  [
    'fd00:10::/97',
    undefined,
    ['network.ipv6.subnet: fd00:10::/97 is too small: the prefix length is at most 96. Use a range like fd00:10::/64.'],
  ],
  [
    'fd00:10::1/64',
    undefined,
    [
      'network.ipv6.subnet: fd00:10::1/64 does not begin with the first address of its range. Use a range like fd00:10::/64.',
    ],
  ],
  ['10.0.0.0/24', undefined, ['network.ipv6.subnet: 10.0.0.0/24 is not an IPv6 range. Use a range like fd00:10::/64.']],
  [':::/64', undefined, ['network.ipv6.subnet: :::/64 is not a CIDR range. Use a range like fd00:10::/64.']],
])('the subnet %s with the gateway %s', (subnet, gateway, problems) => {
  expect(problemsOf({ ipv6: { subnet, ...(gateway && { gateway }) } })).toEqual(problems);
});

it('is distinct from the ranges of Pods and Services', () => {
  expect(problemsOf({ ...dualStack, ipv6: { subnet: 'fd00:1::/64' } })).toEqual([
    'network.podSubnets[1]: fd00:1::/56 overlaps network.ipv6.subnet. Choose another range.',
  ]);
});

it('is refused where it has no effect', () => {
  expect(problemsOf({ ipv6: { subnet: 'fd00:10::/64' } }, own)).toEqual([
    'network.ipv6: Not allowed: nodes of this platform have their own addresses. Omit it.',
  ]);
  expect(problemsOf({ ipv6: { subnet: 'fd00:10::/64', gateway: 'fe80::1' } }, vswitch)).toEqual([
    'network.ipv6.gateway: Not allowed: the private network has no gateway, and the nodes have their own. Omit it.',
  ]);
});
