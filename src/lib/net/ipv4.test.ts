import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countIpv4Addresses,
  formatIpv4,
  ipv4RangeContains,
  ipv4RangesOverlap,
  ipv4SubnetOf,
  listIpv4Addresses,
  parseIpv4,
  parseIpv4Range,
} from './ipv4.ts';

const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe('IPv4 addresses', () => {
  it('survive parsing and formatting', () => {
    fc.assert(
      fc.property(address, (value) => {
        expect(parseIpv4(formatIpv4(value))).toBe(value);
      }),
    );
  });

  it.each(['', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '1.2.3.-4', 'a.b.c.d', '1.2.3.4 '])(
    'rejects %j',
    (text) => {
      expect(parseIpv4(text)).toBeUndefined();
    },
  );

  it('reads single addresses and ranges, and rejects descending ranges', () => {
    expect([...listIpv4Addresses([parseIpv4Range('10.0.0.254-10.0.1.1')!])]).toEqual([
      '10.0.0.254',
      '10.0.0.255',
      '10.0.1.0',
      '10.0.1.1',
    ]);
    expect(parseIpv4Range('10.0.0.1')).toEqual({ first: 167772161, last: 167772161 });
    expect(parseIpv4Range('10.0.0.2-10.0.0.1')).toBeUndefined();
    expect(parseIpv4Range('10.0.0.1-10.0.0.2-10.0.0.3')).toBeUndefined();
  });

  it('knows the subnet of an address', () => {
    fc.assert(
      fc.property(address, fc.integer({ min: 8, max: 30 }), (value, prefix) => {
        const subnet = ipv4SubnetOf(value, prefix);
        expect(ipv4RangeContains(subnet, value)).toBe(true);
        expect(subnet.last - subnet.first + 1).toBe(2 ** (32 - prefix));
        expect(ipv4SubnetOf(subnet.first, prefix)).toEqual(subnet);
      }),
    );
  });

  it('counts an address once when ranges overlap', () => {
    const small = fc.tuple(fc.nat(60), fc.nat(20)).map(([first, more]) => ({ first, last: first + more }));
    fc.assert(
      fc.property(fc.array(small, { maxLength: 6 }), (ranges) => {
        expect(countIpv4Addresses(ranges)).toBe(new Set(listIpv4Addresses(ranges)).size);
      }),
    );
    expect(ipv4RangesOverlap({ first: 1, last: 3 }, { first: 3, last: 9 })).toBe(true);
    expect(ipv4RangesOverlap({ first: 1, last: 2 }, { first: 3, last: 9 })).toBe(false);
  });
});
