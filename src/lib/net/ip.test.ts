import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ipRangesOverlap, parseIp, parseSubnet } from './ip.ts';

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
