import { expect, it } from 'vitest';
import {
  missingForAuthenticationValidator,
  validateAuthenticationArguments,
  validateAuthenticators,
} from '../../../peers/authentication-validator.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { authenticatorErrors, urlErrors } from '../../../world/talos/workload/authenticators.ts';

const ownIssuer = 'https://own.example.org';
const urls = [
  ...['https://id.example.org', 'https://id.example.org:8443/a/b%20c', 'https://[::1]:443/x', 'HTTPS://a.b'],
  ...['http://id.example.org', 'id.example.org', 'https://user@a', 'https://user:word@a', 'https://a?b=c'],
  ...['https://a#b', 'https://a:b/', 'https://a b/', 'https://[::1', 'https://a/%zz?x', ''],
];

describeUnlessMissing('the start of a simulated API server', missingForAuthenticationValidator(), () => {
  it('fails for the same issuer URLs as the real one', async () => {
    const jwt = urls.map((one) => ({
      issuer: { url: one, audiences: ['any'] },
      claimMappings: { username: { claim: 'sub', prefix: '' } },
    }));
    const real = (await validateAuthenticators(jwt)).map((verdict, i) => [urls[i], verdict !== undefined]);
    expect(urls.map((one) => [one, one === '' || urlErrors(one).length > 0])).toEqual(real);
  });

  it('fails for the same other errors as the real one', async () => {
    const issuer = { url: 'https://id.example.org', audiences: ['any'] };
    const username = { claim: 'sub', prefix: '' };
    const cases: Record<string, unknown>[] = [
      { issuer, claimMappings: { username } },
      { issuer: { ...issuer, audiences: [] }, claimMappings: { username } },
      { issuer: { ...issuer, audiences: [''] }, claimMappings: { username } },
      { issuer: { ...issuer, audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' }, claimMappings: { username } },
      { issuer: { ...issuer, audiences: ['a', 'b'] }, claimMappings: { username } },
      { issuer: { ...issuer, certificateAuthority: 'nothing' }, claimMappings: { username } },
      { issuer, claimMappings: {} },
      { issuer, claimMappings: { username: { claim: 'sub' } } },
      { issuer, claimMappings: { username: { claim: 'sub', expression: 'claims.sub' } } },
      { issuer, claimMappings: { username: { expression: 'claims.sub', prefix: '' } } },
      { issuer, claimMappings: { username, groups: { claim: 'groups' } } },
      { issuer, claimMappings: { username }, userValidationRules: [{ expression: '' }] },
      { issuer, claimMappings: { username }, userValidationRules: [{ expression: 'true' }, { expression: 'true' }] },
    ].map((one, i) => ({ ...one, issuer: { ...one.issuer, url: `https://id${i}.example.org` } }));
    const real = (await validateAuthenticators(cases)).map((verdict) => verdict !== undefined);
    expect(cases.map((one) => authenticatorErrors([one], []).length > 0)).toEqual(real);
    expect(real.filter((isRefused) => !isRefused)).toHaveLength(1);
    // The error about its own tokens' issuer comes later and names no location in the file.
    const output = await validateAuthenticationArguments([`--oidc-issuer-url=${ownIssuer}`, '--oidc-client-id=any']);
    expect(output).toContain('URL must not overlap with disallowed issuers');
    const ofOwn = { issuer: { ...issuer, url: ownIssuer }, claimMappings: { username } };
    expect(authenticatorErrors([ofOwn], [ownIssuer]).length).toBe(1);
    expect(authenticatorErrors([cases[0] ?? {}, cases[0] ?? {}], [])).toEqual(['jwt[1].issuer.url: Duplicate value']);
  });
});
