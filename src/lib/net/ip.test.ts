import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalIp,
  countIpAddresses,
  formatIp,
  hostOfUrl,
  type IpRange,
  ipRangesOverlap,
  ipSubnetOf,
  listIpAddresses,
  parseIp,
  parseIpRange,
  parseSubnet,
} from './ip.ts';

describe('an address', () => {
  it.each<[string, bigint]>([
    ['10.0.0.1', 0x0a000001n],
    ['::', 0n],
    ['::1', 1n],
    ['fd00::', 0xfd00n << 112n],
    ['2001:db8:1:2:3:4:5:6', 0x20010db8000100020003000400050006n],
    ['::ffff:192.0.2.1', 0xffffc0000201n],
  ])('%s', (text, value) => {
    expect(parseIp(text)?.first).toBe(value);
  });

  it.each(['', '10.0.0', '10.0.0.256', '10.0.0.01', 'fd00', ':::', 'fe80::1%eth0', '1::2::3', 'host'])(
    'is not %s',
    (text) => {
      expect(parseIp(text)).toBeUndefined();
    },
  );

  it('is equal in every notation of IPv6', () => {
    fc.assert(
      fc.property(
        fc.ipV6().filter((text) => !text.includes('.')),
        (text) => {
          const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
          expect(parseIp(short)).toEqual(parseIp(text));
        },
      ),
    );
  });
});

describe('a subnet', () => {
  it.each<[string, bigint, bigint, boolean]>([
    ['10.1.0.0/16', 0x0a010000n, 0x0a01ffffn, true],
    ['10.1.2.3/16', 0x0a010000n, 0x0a01ffffn, false],
    ['0.0.0.0/0', 0n, 0xffffffffn, true],
    ['192.0.2.7/32', 0xc0000207n, 0xc0000207n, true],
    ['fd00::/120', 0xfd00n << 112n, (0xfd00n << 112n) + 255n, true],
  ])('%s', (text, first, last, exact) => {
    expect(parseSubnet(text)).toMatchObject({ first, last, exact });
  });

  it.each(['10.1.0.0', '10.1.0.0/33', '10.1.0.0/', '10.1.0.0/1/2', 'fd00::/129', '10.1.0.0/-1', 'x/8'])(
    'is not %s',
    (text) => {
      expect(parseSubnet(text)).toBeUndefined();
    },
  );

  it('overlaps a subnet with common addresses, and none of the other family', () => {
    const overlap = (a: string, b: string) => ipRangesOverlap(parseSubnet(a)!, parseSubnet(b)!);
    expect(overlap('10.0.0.0/8', '10.9.0.0/16')).toBe(true);
    expect(overlap('10.9.0.0/16', '10.10.0.0/16')).toBe(false);
    expect(overlap('0.0.0.0/0', '::/0')).toBe(false);
  });
});

const anIpv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((first): IpRange => ({ family: 4, first, last: first }));
const anIpv6 = fc
  .bigInt({ min: 0n, max: 2n ** 128n - 1n })
  .map((first): IpRange => ({ family: 6, first, last: first }));
const anIp = fc.oneof(anIpv4, anIpv6);

describe('the text of an address', () => {
  it('is parsed to the same address', () => {
    fc.assert(
      fc.property(anIp, (address) => {
        expect(parseIp(formatIp(address))).toEqual(address);
      }),
    );
  });

  it('is the same for every notation, and that of a URL without brackets', () => {
    expect(canonicalIp('FD00:0010:0::0:20')).toBe('fd00:10::20');
    expect(canonicalIp('192.0.2.1')).toBe('192.0.2.1');
    expect(canonicalIp('k8s.example.org')).toBe('k8s.example.org');
    expect(hostOfUrl(new URL('https://[fd00:10::20]:6443'))).toBe('fd00:10::20');
    expect(hostOfUrl(new URL('https://k8s.example.org:6443'))).toBe('k8s.example.org');
  });
});

describe('a range', () => {
  it('is one address, or ascends within one family', () => {
    expect([...listIpAddresses([parseIpRange('10.0.0.254-10.0.1.1')!])]).toEqual([
      '10.0.0.254',
      '10.0.0.255',
      '10.0.1.0',
      '10.0.1.1',
    ]);
    expect([...listIpAddresses([parseIpRange('fd00::ffff-fd00::1:1')!])]).toEqual([
      'fd00::ffff',
      'fd00::1:0',
      'fd00::1:1',
    ]);
    expect(parseIpRange('10.0.0.1')).toEqual(parseIp('10.0.0.1'));
    for (const text of ['10.0.0.2-10.0.0.1', '10.0.0.1-10.0.0.2-10.0.0.3', '10.0.0.1-fd00::1', '-', 'fd00::1-'])
      expect(parseIpRange(text)).toBeUndefined();
  });

  it('is in the subnet of its addresses', () => {
    fc.assert(
      fc.property(anIp, fc.nat(128), (address, prefix) => {
        const bits = address.family === 4 ? 32 : 128;
        const subnet = ipSubnetOf(address, prefix);
        if (prefix > bits) {
          expect(subnet).toBeUndefined();
          return;
        }
        expect(subnet && ipRangesOverlap(subnet, address)).toBe(true);
        expect(subnet && subnet.last - subnet.first + 1n).toBe(2n ** BigInt(bits - prefix));
        expect(subnet && ipSubnetOf({ ...subnet, last: subnet.first }, prefix)).toEqual(subnet);
      }),
    );
  });

  it('counts an address once that is in two of them', () => {
    const small = fc
      .tuple(fc.constantFrom<4 | 6>(4, 6), fc.nat(60), fc.nat(20))
      .map(([family, first, more]): IpRange => ({ family, first: BigInt(first), last: BigInt(first + more) }));
    fc.assert(
      fc.property(fc.array(small, { maxLength: 6 }), (ranges) => {
        expect(countIpAddresses(ranges)).toBe(new Set(listIpAddresses(ranges)).size);
      }),
    );
  });
});
