import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  maxAuthenticatorsAtOnce,
  missingForAuthenticationValidator,
  validateAuthenticationArguments,
  validateAuthenticators,
} from '../../../../test/peers/authentication-validator.ts';
import { describeUnlessMissing } from '../../../../test/support/describe-unless-missing.ts';
import { createCertificateAuthority } from '../../secrets/certificates.ts';
import { findCaBundleProblem } from './ca-bundle.ts';
import {
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
  maxLengths,
} from './oidc-grammar.ts';
import { findFieldUnfitForArguments, type OidcTrust, toJwtAuthenticators, toOidcArguments } from './oidc-trust.ts';

const trustIn = (change: Partial<OidcTrust>): OidcTrust => ({
  issuer: 'https://id.example.org',
  clientIds: ['kube'],
  usernameClaim: 'sub',
  usernamePrefix: 'corp:',
  groupsClaim: 'groups',
  groupsPrefix: 'corp:',
  ...change,
});

/** Characters with a special meaning to one of the parsers. */
const letters = [
  ...'abz.:/%[]@?#\\ -_~$"\'{}09AF,;=+&!',
  '\n',
  '\u0000',
  '\u007f',
  'ü',
  '\u2028',
  '%41',
  '%zz',
  '::1',
  'system:',
];
const unknown = fc.string({ unit: fc.constantFrom(...letters), maxLength: 24 });
const part = fc.string({ unit: fc.constantFrom(...'ab0-_.~%41:'), maxLength: 12 });
const issuer = fc.oneof(
  unknown.map((rest) => `https://${rest}`),
  fc.tuple(part, part).map(([host, path]) => `https://h${host}.example/${path}`),
  fc.webUrl({ validSchemes: ['https'], withFragments: false }),
  fc.ipV6().map((address) => `https://[${address}]:8443/x`),
  unknown,
);

const issuerAt = (i: number): string => `https://id${i}.example.org`;

/** As many as one start can judge, all of them with different issuers. */
const draw = <T>(what: fc.Arbitrary<T>, seed: number): T[] => fc.sample(what, { seed, numRuns: 60 });
const refusedOf = (verdicts: readonly (string | undefined)[], isTaken: (i: number) => boolean): unknown[] =>
  verdicts.flatMap((verdict, i) => (isTaken(i) && verdict !== undefined ? [verdict] : []));

describeUnlessMissing(
  'what this grammar takes, a real kube-apiserver takes',
  missingForAuthenticationValidator(),
  () => {
    it.each([1, 2, 3, 4, 5, 6, 7, 8])('issuers, drawn with seed %i', async (seed) => {
      const drawn = [...new Set(draw(issuer, seed))];
      const verdicts = await validateAuthenticators(
        toJwtAuthenticators(
          drawn.map((url) => trustIn({ issuer: url, usernamePrefix: `u${url.length}:`, groupsPrefix: 'g:' })),
        ),
      );
      const taken = drawn.filter((url) => findIssuerProblem(url) === undefined);
      expect(refusedOf(verdicts, (i) => findIssuerProblem(drawn[i] ?? '') === undefined)).toEqual([]);
      expect(taken.length).toBeGreaterThan(5);
      expect(verdicts.some((verdict) => verdict !== undefined)).toBe(true);
    });

    it('and rejects the known ones that keep it from starting', async () => {
      const known = ['https://a.b/%zz', 'https://a%41b.example/', 'https://a.b/x%'];
      const verdicts = await validateAuthenticators(toJwtAuthenticators(known.map((url) => trustIn({ issuer: url }))));
      expect(verdicts.every((verdict) => verdict?.includes('issuer.url'))).toBe(true);
      expect(known.map(findIssuerProblem)).not.toContain(undefined);
    });

    it.each([1, 2, 3, 4])('client ids, claims and prefixes, drawn with seed %i', async (seed) => {
      const item = fc.oneof(unknown, fc.string({ unit: fc.constantFrom(...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~aZ0') }));
      const fields = fc.record({ id: item, claim: item, prefix: item });
      const drawn = draw(fields, seed).filter(
        ({ id, claim, prefix }) => !findClientIdProblem(id) && !findClaimProblem(claim) && !findPrefixProblem(prefix),
      );
      const trust = drawn.slice(0, maxAuthenticatorsAtOnce).map(({ id, claim, prefix }, i) =>
        trustIn({
          issuer: issuerAt(i),
          clientIds: [...new Set([id, 'web'])],
          usernameClaim: claim,
          groupsClaim: claim,
          usernamePrefix: prefix,
          groupsPrefix: prefix,
        }),
      );
      expect(trust.length).toBeGreaterThan(5);
      // Email is a claim with special rules in expressions, which these claims do not use.
      expect(refusedOf(await validateAuthenticators(toJwtAuthenticators(trust)), () => true)).toEqual([]);
    });

    it('values of maximum length and with special characters, also as arguments', async () => {
      const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('');
      const trust = trustIn({
        issuer: `https://127.0.0.1:1/${'x'.repeat(maxLengths.issuer - 20)}`,
        clientIds: [printable.replaceAll('$', '')],
        usernameClaim: printable.replaceAll('$', ''),
        usernamePrefix: `-${printable.replaceAll('$', '')}`,
        groupsClaim: 'g'.repeat(maxLengths.claim),
        groupsPrefix: 'p'.repeat(maxLengths.prefix),
      });
      expect(findFieldUnfitForArguments(trust)).toBeUndefined();
      expect(await validateAuthenticators(toJwtAuthenticators([trust]))).toEqual([undefined]);
      const args = Object.entries(toOidcArguments(trust)).map(([name, value]) => `--${name}=${value}`);
      expect(await validateAuthenticationArguments(args)).toBeUndefined();
      expect(
        await validateAuthenticationArguments(['--oidc-issuer-url=https://a.b/%zz', '--oidc-client-id=a']),
      ).toMatch(/invalid URL escape/);
    });

    it('CA bundles with a damaged byte at any position', async () => {
      const validity = { notBefore: new Date(), notAfter: new Date(Date.now() + 86_400_000), organization: 'issuer' };
      const { certificate } = await createCertificateAuthority({ keyKind: 'ecdsa-p256', ...validity });
      const der = Buffer.from(certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64');
      const wrap = (bytes: Buffer): string =>
        `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`;
      const texts = fc.oneof(
        fc.tuple(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, change]) => {
          const copy = Buffer.from(der);
          copy[at] = (copy[at] ?? 0) ^ change;
          return wrap(copy);
        }),
        fc.nat(der.length).map((length) => wrap(der.subarray(0, length))),
        fc.constantFrom(
          certificate,
          `# one\n${certificate}\n# another\n${certificate}`,
          certificate.replaceAll('\n', '\r\n'),
          ` ${certificate}`,
          certificate.replace('-----BEGIN', '# -----BEGIN'),
          certificate.trimEnd(),
          certificate.replaceAll('\n', ''),
          certificate.replace('\n', '\nProc-Type: 4\n\n'),
          `${certificate}-----BEGIN CERTIFICATE-----\n`,
        ),
      );
      const drawn = draw(texts, 7).map((ca, i) => trustIn({ issuer: issuerAt(i), ca }));
      const verdicts = await validateAuthenticators(toJwtAuthenticators(drawn));
      const isTaken = (i: number): boolean => findCaBundleProblem(drawn[i]?.ca ?? '') === undefined;
      expect(refusedOf(verdicts, isTaken)).toEqual([]);
      expect(drawn.filter((_, i) => isTaken(i)).length).toBeGreaterThan(2);
    });
  },
);
