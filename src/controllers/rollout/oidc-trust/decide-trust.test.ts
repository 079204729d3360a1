import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anAccessRequest } from '../../../../test/support/fixtures/builders.ts';
import type { AccessRequest, OidcAccess } from '../../../api/openmcp/types.ts';
import { decideNextTrustRecord } from './decide-next-trust-record.ts';
import { decideTrust, type TrustView } from './decide-trust.ts';
import { hashTrustRecord, isSameTrust, mayBeTrustedFor, type TrustRecord, toOidcTrust } from './trust-record.ts';

const issuer = 'https://id.example.org';

/** With creation times in the order of their names. */
function asking(name: string, oidc: Partial<OidcAccess> = {}): AccessRequest {
  const request = anAccessRequest();
  const metadata = {
    ...request.metadata,
    name,
    uid: `uid-${name}`,
    creationTimestamp: `2026-11-21T09:00:0${name.length}Z`,
  };
  return { ...request, metadata, spec: { oidc: { name, issuer, clientID: 'kube', roleBindings: [], ...oidc } } };
}

const view = (requests: readonly AccessRequest[], more: Partial<TrustView> = {}): TrustView => ({
  record: undefined,
  requests,
  many: true,
  authorities: new Map(),
  hasFile: () => true,
  ownIssuers: ['https://192.168.10.20:6443'],
  usedIssuers: undefined,
  config: 'home',
  ...more,
});

const recordOf = (decided: ReturnType<typeof decideTrust>): TrustRecord => ({
  revision: 1,
  entries: [...decided.entries],
  leaving: [],
  complete: true,
});
const other = { issuer: 'https://other.example.org' };

describe('the trust of a cluster', () => {
  it('uses prefixes unchanged; an empty one means none, and the default is the name with a colon', () => {
    const prefixes = (oidc: Partial<OidcAccess>) => {
      const [one] = toOidcTrust(decideTrust(view([asking('corp', oidc)])).entries);
      return [one?.usernamePrefix, one?.groupsPrefix, one?.usernameClaim, one?.groupsClaim];
    };
    expect(prefixes({})).toEqual(['corp:', 'corp:', 'sub', 'groups']);
    expect(prefixes({ usernamePrefix: '', groupsPrefix: 'g-' })).toEqual(['', 'g-', 'sub', 'groups']);
    expect(prefixes({ usernameClaim: 'email', groupsClaim: '' })).toEqual(['corp:', 'corp:', 'email', 'groups']);
  });

  it('has one entry with two audiences for two clients of an issuer with the same settings', () => {
    const both = [asking('a', { name: 'corp' }), asking('bb', { name: 'corp', clientID: 'web' })];
    expect(toOidcTrust(decideTrust(view(both)).entries)).toEqual([
      expect.objectContaining({ clientIds: ['kube', 'web'] }),
    ]);
    const second = decideTrust(view(both, { many: false }));
    expect(toOidcTrust(second.entries)).toEqual([expect.objectContaining({ clientIds: ['kube'] })]);
    expect(second.refused.get('uid-bb')).toMatch(/^spec\.oidc\.clientID: before Talos 1\.14 .*AccessRequest team\/a /);
  });

  it.each<[string, Partial<OidcAccess>, Partial<TrustView>, RegExp]>([
    [
      'the same issuer with other settings',
      { usernameClaim: 'email' },
      {},
      /^spec\.oidc\.usernameClaim: AccessRequest team\/a has .*"sub"/,
    ],
    [
      'a second issuer before 1.14',
      other,
      { many: false },
      /^spec\.oidc\.issuer: before Talos 1\.14 .*AccessRequest team\/a uses https:\/\/id\.example\.org/,
    ],
    [
      'the prefix of another issuer',
      { ...other, usernamePrefix: 'a:' },
      {},
      /^spec\.oidc\.usernamePrefix: with "a:" this issuer could impersonate users of https:\/\/id/,
    ],
    [
      'a prefix that begins with the prefix of another issuer',
      { ...other, groupsPrefix: 'a:admins:' },
      {},
      /^spec\.oidc\.groupsPrefix: /,
    ],
    [
      'a prefix with which the prefix of another issuer begins',
      { ...other, groupsPrefix: 'a' },
      {},
      /^spec\.oidc\.groupsPrefix: with "a" .*neither may begin/,
    ],
    ['no prefix beside another issuer', { ...other, usernamePrefix: '' }, {}, /^spec\.oidc\.usernamePrefix: with ""/],
    ['an issuer that Go cannot read', { issuer: 'https://id.example.org/%zz' }, {}, /^spec\.oidc\.issuer: The path/],
    ['a client id with a space', { ...other, clientID: 'a b' }, {}, /^spec\.oidc\.clientID: It contains/],
    [
      'a prefix of Kubernetes',
      { ...other, usernamePrefix: 'system:node:' },
      {},
      /^spec\.oidc\.usernamePrefix: The prefix system: is reserved/,
    ],
    ['plain http', { issuer: 'http://id.example.org' }, {}, /^spec\.oidc\.issuer: Kubernetes requires an https/],
    ['a query', { issuer: 'https://id.example.org?a' }, {}, /^spec\.oidc\.issuer: /],
    [
      'a control character',
      { ...other, groupsClaim: 'a\u0000' },
      {},
      /^spec\.oidc\.groupsClaim: It contains a control character/,
    ],
    [
      'the cluster itself',
      { issuer: 'https://192.168.10.20:6443' },
      {},
      /^spec\.oidc\.issuer: .* is the ServiceAccount issuer/,
    ],
    [
      'a trust that a patch configures',
      other,
      { usedIssuers: 'talos.patches[0]' },
      /ProviderConfig home configures the trusted issuers .*talos\.patches\[0\]/,
    ],
  ])('rejects %s, with the field and the action to take', (_, oidc, more, sentence) => {
    const first = decideTrust(view([asking('a')], more.usedIssuers ? {} : more));
    const record = recordOf(first);
    const { refused, entries } = decideTrust(
      view([asking('a'), asking('bb', { name: 'b', ...oidc })], { ...more, record }),
    );
    expect(refused.get('uid-bb')).toMatch(sentence);
    expect(toOidcTrust(entries)).toEqual(toOidcTrust(first.entries));
  });

  it('before Talos 1.14, needs CA certificates that are on the nodes, and rejects what arguments cannot express', () => {
    const alone = (oidc: Partial<OidcAccess>, more: Partial<TrustView> = {}) =>
      decideTrust(view([asking('a', oidc)], { many: false, ...more })).refused.get('uid-a');
    const authorities = new Map([[issuer, 'PEM']]);
    expect(alone({}, { authorities })).toBeUndefined();
    expect(alone({}, { authorities, hasFile: () => false })).toMatch(
      /^spec\.oidc\.issuer: .*access\.oidcIssuers.*added after the creation/,
    );
    expect(alone({ usernamePrefix: '-' })).toMatch(/^spec\.oidc\.usernamePrefix: /);
    expect(alone({ clientID: '$(HOME)' })).toMatch(/^spec\.oidc\.clientID: /);
  });

  it.each(['usernamePrefix', 'groupsPrefix'] as const)(
    'before Talos 1.14, rejects a %s with which system:masters can be named, in any order',
    (key) => {
      for (const prefix of ['', 's', 'system', 'system:', 'system:x']) {
        const requests = [asking('a', { [key]: prefix })];
        const rejection = decideTrust(view(requests, { many: false })).refused.get('uid-a');
        expect(rejection).toMatch(new RegExp(`^spec\\.oidc\\.${key}: `));
        const trusted = recordOf(decideTrust(view(requests)));
        expect(decideTrust(view(requests, { many: false, record: trusted })).entries).toEqual([]);
        const modern = decideTrust(view(requests)).refused.get('uid-a');
        expect(modern === undefined).toBe(!prefix.startsWith('system:'));
      }
      expect(decideTrust(view([asking('a', { [key]: 'systems' })], { many: false })).refused.size).toBe(0);
    },
  );

  it('accepts or rejects two requests together regardless of their order', () => {
    const item = fc.constantFrom('', 'a', 'a:', 'ab', 'b:');
    const desired = fc.record({
      issuer: fc.constantFrom(issuer, other.issuer),
      clientID: fc.constantFrom('kube', 'web'),
      usernamePrefix: item,
      groupsPrefix: item,
    });
    fc.assert(
      fc.property(desired, desired, fc.boolean(), (one, two, many) => {
        const count = (first: typeof one, second: typeof one) =>
          decideTrust(view([asking('a', first), asking('bb', second)], { many })).refused.size;
        fc.pre([one, two].every((each) => decideTrust(view([asking('a', each)], { many })).refused.size === 0));
        expect(count(one, two)).toBe(count(two, one));
      }),
    );
  });

  it('keeps a trusted request when an older request is assigned later', () => {
    const record = recordOf(decideTrust(view([asking('younger')], { many: false })));
    const { entries, refused } = decideTrust(view([asking('a', other), asking('younger')], { many: false, record }));
    expect(entries.map((entry) => entry.issuer)).toEqual([issuer]);
    expect([...refused.keys()]).toEqual(['uid-a']);
  });

  it('prefers unchanged requests to a changed one', () => {
    const pair = (change: Partial<OidcAccess>) => [asking('a', { name: 'x', ...change }), asking('bb', { name: 'x' })];
    const record = recordOf(decideTrust(view(pair({}))));
    const { refused } = decideTrust(view(pair({ groupsClaim: 'roles' }), { record }));
    expect([...refused.keys()]).toEqual(['uid-a']);
  });

  it('is stable without changes, for any requests in any order', () => {
    const item = fc.constantFrom('', 'a', 'a:', 'ab', 'b:', 'system:');
    const desired = fc.record({
      issuer: fc.constantFrom(issuer, other.issuer, 'https://third.example.org'),
      clientID: fc.constantFrom('kube', 'web'),
      usernamePrefix: item,
      groupsPrefix: item,
    });
    fc.assert(
      fc.property(fc.array(desired, { maxLength: 5 }), fc.boolean(), (desiredSpecs, many) => {
        const requests = desiredSpecs.map((one, i) => asking('abcdefgh'.slice(0, i + 1), one));
        const first = decideTrust(view(requests, { many }));
        const again = decideTrust(view([...requests].reverse(), { many, record: recordOf(first) }));
        expect(isSameTrust(again.entries, first.entries)).toBe(true);
        if (!many)
          expect(toOidcTrust(first.entries).flatMap(({ clientIds }) => clientIds).length).toBeLessThanOrEqual(1);
        for (const key of ['usernamePrefix', 'groupsPrefix'] as const) {
          const prefixes = first.entries.map((entry) => entry[key]);
          const overlaps = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);
          expect(prefixes.some((prefix, i) => prefixes.slice(0, i).some((before) => overlaps(prefix, before)))).toBe(
            false,
          );
          if (!many) expect(prefixes.filter((prefix) => 'system:'.startsWith(prefix))).toEqual([]);
        }
      }),
    );
  });
});

describe('the trust record', () => {
  const secrets = (trust: TrustRecord | undefined) => ({ trust, bootstrappedAt: 'then' }) as never;
  const trust = decideTrust(view([asking('a')]));

  it('is absent without requests, then written as incomplete, then complete', () => {
    expect(
      decideNextTrustRecord({
        secrets: secrets(undefined),
        trust: decideTrust(view([])),
        machines: [],
        trustRollout: undefined,
      }),
    ).toBeUndefined();
    const record = decideNextTrustRecord({ secrets: secrets(undefined), trust, machines: [], trustRollout: undefined });
    expect(record).toMatchObject({ revision: 1, complete: false, leaving: [] });
    const done = decideNextTrustRecord({ secrets: secrets(record), trust, machines: [], trustRollout: undefined });
    expect(done).toMatchObject({ revision: 1, complete: true });
    expect(
      decideNextTrustRecord({ secrets: secrets(done), trust, machines: [], trustRollout: undefined }),
    ).toBeUndefined();
  });

  it('keeps a removed request until its trust is gone, and gives a returning request a new hash', () => {
    const before = { ...recordOf(trust), revision: 4 };
    const gone = decideNextTrustRecord({
      secrets: secrets(before),
      trust: decideTrust(view([])),
      machines: [],
      trustRollout: undefined,
    });
    expect(mayBeTrustedFor(gone, 'uid-a')).toBe(true);
    const done = decideNextTrustRecord({
      secrets: secrets(gone),
      trust: decideTrust(view([])),
      machines: [],
      trustRollout: undefined,
    });
    expect(mayBeTrustedFor(done, 'uid-a')).toBe(false);
    const back = decideNextTrustRecord({ secrets: secrets(done), trust, machines: [], trustRollout: undefined });
    expect(back && hashTrustRecord(back)).not.toBe(hashTrustRecord(before));
  });
});
