import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  missingForAuthenticationValidator,
  validateAuthenticators,
} from '../../../../test/peers/authentication-validator.ts';
import { describeUnlessMissing } from '../../../../test/support/describe-unless-missing.ts';
import type { ConfigDocument } from '../config-document.ts';
import { findAuthenticatorProblems } from './authenticator-rules.ts';

const own = 'https://192.168.10.20:6443';
const issuer = { url: 'https://id.example.org', audiences: ['kube'] };
const username = { claim: 'sub', prefix: 'corp:' };
const groups = { claim: 'groups', prefix: 'corp:' };
const evaluate = (...jwt: unknown[]): string[] => findAuthenticatorProblems(jwt, 'jwt', [own]);
const aOne = (change: ConfigDocument = {}) => ({ issuer, claimMappings: { username, groups }, ...change });

const noSystemUsers = { expression: "!user.username.startsWith('system:')", message: 'not for this issuer' };
const noSystemGroups = { expression: "user.groups.all(g, !g.startsWith('system:'))" };

describe('an OIDC authenticator in a patch', () => {
  it('is accepted when kube-apiserver starts with it', () => {
    expect(evaluate(aOne())).toEqual([]);
    expect(findAuthenticatorProblems(undefined, 'jwt', [])).toEqual([]);
    expect(
      evaluate(
        aOne({
          issuer: {
            ...issuer,
            discoveryURL: 'https://inside.example.org/about',
            audiences: ['a', 'b'],
            audienceMatchPolicy: 'MatchAny',
          },
          claimValidationRules: [{ claim: 'hd', requiredValue: 'x' }, { expression: 'claims.email_verified == true' }],
          claimMappings: {
            username: { expression: 'claims.email' },
            groups: { expression: 'dyn(claims.realm.roles).map(r, "corp:" + r)' },
            uid: { claim: 'oid' },
            extra: [{ key: 'example.org/team', valueExpression: '"t-" + claims.team' }],
          },
          userValidationRules: [noSystemUsers],
        }),
      ),
    ).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'an issuer that Go cannot parse',
      aOne({ issuer: { ...issuer, url: 'https://a.b/%zz' } }),
      /^jwt\[0\]\.issuer\.url: /,
    ],
    [
      'the cluster itself',
      aOne({ issuer: { ...issuer, url: own } }),
      /^jwt\[0\]\.issuer\.url: It is the ServiceAccount issuer/,
    ],
    ['no audience', aOne({ issuer: { url: issuer.url } }), /^jwt\[0\]\.issuer\.audiences /],
    ['two audiences without a policy', aOne({ issuer: { ...issuer, audiences: ['a', 'b'] } }), /audienceMatchPolicy/],
    ['an invalid bundle', aOne({ issuer: { ...issuer, certificateAuthority: 'x' } }), /certificateAuthority: /],
    [
      'an unavailable egress selector',
      aOne({ issuer: { ...issuer, egressSelectorType: 'cluster' } }),
      /egressSelectorType/,
    ],
    ['no mapping', { issuer }, /^jwt\[0\]\.claimMappings is missing/],
    ['no prefix', aOne({ claimMappings: { username: { claim: 'sub' } } }), /username\.prefix: It must be a string/],
    ['an unknown key', aOne({ claimMapping: {} }), /^jwt\[0\]\.claimMapping is not supported/],
    [
      'an unsupported expression',
      aOne({ claimMappings: { username: { expression: 'claims.' } } }),
      /username\.expression: /,
    ],
    [
      'a reserved word of CEL',
      aOne({ claimMappings: { username: { expression: '"a:" + claims.in' } } }),
      /expression: /,
    ],
    [
      'an unverified email address in an expression',
      aOne({ claimMappings: { username: { expression: '"a:" + claims.email' } } }),
      /email_verified/,
    ],
    [
      'no prefix for users',
      aOne({ claimMappings: { username: { claim: 'sub', prefix: '' } } }),
      /username can give names .*system:/,
    ],
    [
      'the beginning of the prefix of Kubernetes',
      aOne({ claimMappings: { username, groups: { claim: 'g', prefix: 'sys' } } }),
      /groups can give names/,
    ],
    [
      'the prefix of Kubernetes',
      aOne({ claimMappings: { username: { claim: 'sub', prefix: 'system:x' } }, userValidationRules: [noSystemUsers] }),
      /username can give/,
    ],
    [
      'groups without a prefix',
      aOne({
        claimMappings: { username, groups: { expression: 'claims.groups' } },
        userValidationRules: [noSystemUsers],
      }),
      /groups can give/,
    ],
    [
      'a rule about groups instead of users',
      aOne({ claimMappings: { username: { claim: 'sub', prefix: '' } }, userValidationRules: [noSystemGroups] }),
      /username can give/,
    ],
    [
      'a key of Kubernetes',
      aOne({ claimMappings: { username, extra: [{ key: 'k8s.io/x', valueExpression: 'claims.x' }] } }),
      /extra\[0\]\.key: /,
    ],
    [
      'a duplicate rule',
      aOne({ userValidationRules: [noSystemUsers, noSystemUsers] }),
      /userValidationRules\[1\] is not unique/,
    ],
  ])('%s is rejected, with the path', (_, one, sentence) => {
    expect(evaluate(one).join('\n')).toMatch(sentence);
  });

  it('a duplicate issuer is rejected, and so are more than 64', () => {
    expect(evaluate(aOne(), aOne())).toEqual([expect.stringContaining('is not unique')]);
    expect(evaluate(...Array.from({ length: 65 }, () => aOne()))).toEqual([expect.stringContaining('64')]);
  });
});

/** Parts of authenticators, most of them valid. */
const expressionOf = (...sound: string[]) =>
  fc.record({ expression: fc.constantFrom(...sound, ...sound, 'claims.in', '"a" + 1', '"\\" + claims.x', 'true', '') });
const named = (...sound: string[]) =>
  fc.oneof(
    expressionOf(...sound),
    fc.record({ claim: fc.constantFrom('sub', 'https://example.org/x', ''), prefix: fc.constantFrom('a:', '', 's') }),
  );
const authenticator = fc.record(
  {
    claimMappings: fc.record(
      {
        username: named('claims.sub', '"a:" + claims.sub', "'a:' + claims.a.b", 'claims.email'),
        groups: named('claims.groups', 'dyn(claims.groups).map(g, "x:" + g)', "dyn(claims.a.b).map(g_1,'x'+g_1)"),
        uid: expressionOf('claims.oid', "'u' + claims.a"),
      },
      { requiredKeys: ['username'] },
    ),
    claimValidationRules: fc.array(
      expressionOf('claims.hd == "a"', "claims.a.b=='x y'", 'claims.email_verified == true', 'claims.x == false'),
      { maxLength: 2 },
    ),
    userValidationRules: fc.array(
      fc.oneof(
        fc.constantFrom(noSystemUsers, noSystemGroups),
        expressionOf('!user.username.startsWith("x")', "user.groups.all(one,!one.startsWith('y:'))"),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  },
  { requiredKeys: ['claimMappings'] },
);

describeUnlessMissing('what is taken here, a real kube-apiserver takes', missingForAuthenticationValidator(), () => {
  it.each([1, 2, 3, 4, 5, 6])('authenticators with expressions, drawn with seed %i', async (seed) => {
    const drawn = fc.sample(authenticator, { seed, numRuns: 2000 }).map((one) => ({ issuer, ...one }));
    const taken = drawn.filter((one) => evaluate(one).length === 0).slice(0, 60);
    const reported = taken.map((one, i) => ({ ...one, issuer: { ...issuer, url: `https://id${i}.example.org` } }));
    expect(taken.length).toBeGreaterThan(20);
    const verdicts = await validateAuthenticators(reported);
    expect(verdicts.flatMap((verdict, i) => (verdict === undefined ? [] : [[verdict, reported[i]]]))).toEqual([]);
  });
});
