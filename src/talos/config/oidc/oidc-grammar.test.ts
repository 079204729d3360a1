import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowsSystemNames,
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
} from './oidc-grammar.ts';

describe('issuers', () => {
  it.each([
    'https://id.example.org',
    'https://id.example.org/',
    'https://login.example.org:8443/realms/main',
    'https://192.0.2.7:6443/a%20b/~c',
    'https://[2001:db8::7]:443/oauth2',
    'https://a_b.example.org/x//y',
  ])('%s is accepted', (url) => expect(findIssuerProblem(url)).toBeUndefined());

  it.each([
    ['https://a.b/%zz', /%/],
    ['https://a%41b.example/', /host/],
    ['https://a.b/x%', /%/],
    ['https://a.b/x%4', /%/],
    ['http://a.b', /https/],
    ['HTTPS://a.b', /https/],
    ['https://me@a.b', /user/],
    ['https://me:pass@a.b/', /user/],
    ['https://a.b?', /query/],
    ['https://a.b/#', /fragment/],
    ['https://', /host/],
    ['https:///path', /host/],
    ['https://a.b:', /port/],
    ['https://a.b:0', /port/],
    ['https://a.b:65536/', /port/],
    ['https://a:b:443', /host/],
    ['https://[::1', /host/],
    ['https://[::1%25eth0]/', /host/],
    ['https://-a.b', /host/],
    ['https://köln.example', /host/],
    ['https://a.b/ü', /escape/],
    ['https://a.b/a b', /escape/],
    ['https://a.b/\n', /escape/],
    ['https://a.b\\c', /host/],
    [`https://a.b/${'x'.repeat(512)}`, /longer than 512/],
  ])('%s is rejected', (url, sentence) => expect(findIssuerProblem(url)).toMatch(sentence));

  it('are parsed in linear time', () => {
    const began = performance.now();
    for (const part of ['%', '[', ':', '.', 'a.', '%4', '-'])
      expect(findIssuerProblem(`https://${part.repeat(500_000)}`)).toBeDefined();
    expect(performance.now() - began).toBeLessThan(1000);
  });
});

describe('client ids, claims and prefixes', () => {
  it('are printable ASCII; only a prefix may be empty', () => {
    for (const check of [findClientIdProblem, findClaimProblem, findPrefixProblem]) {
      expect(check('https://example.org/groups')).toBeUndefined();
      for (const wrong of ['a b', 'a\n', '\u0000', 'ä', '\ud800', '\u2028', 'x'.repeat(300)])
        expect(check(wrong)).toBeDefined();
    }
    expect([findClientIdProblem(''), findClaimProblem(''), findPrefixProblem('')]).toEqual([
      expect.stringContaining('empty'),
      expect.stringContaining('empty'),
      undefined,
    ]);
  });

  it('a prefix allows names of Kubernetes exactly when some value after it forms one', () => {
    for (const prefix of ['', 's', 'sys', 'system', 'system:', 'system:node:'])
      expect(allowsSystemNames(prefix)).toBe(true);
    for (const prefix of ['S', 'x', 'systems', 'System:', 'corp:', ':system:', '-'])
      expect(allowsSystemNames(prefix)).toBe(false);
    const text = fc.string({ unit: fc.constantFrom(...'system:x'), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (prefix, value) => {
        if (`${prefix}${value}`.startsWith('system:')) expect(allowsSystemNames(prefix)).toBe(true);
      }),
    );
  });
});
