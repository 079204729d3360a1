import { expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import { createCertificateAuthority } from '../../../talos/secrets/certificates.ts';
import { checkIssuers } from './check-issuers.ts';

const authority = createCertificateAuthority({
  keyKind: 'ecdsa-p256',
  organization: 'issuer',
  notBefore: new Date(),
  notAfter: new Date(Date.now() + 86_400_000),
});
const evaluate = (caBundle: string) =>
  checkIssuers(
    aSpec((raw) => {
      raw['access'] = { oidcIssuers: [{ issuer: 'https://id.example.org', caBundle }] };
    }),
  );

it('accepts one or more certificates with text around them', async () => {
  const { certificate } = await authority;
  expect(evaluate(certificate)).toEqual([]);
  expect(evaluate(`# root\n${certificate}\n# and again\n${certificate}`)).toEqual([]);
});

it('rejects what an API server cannot read, because it would not start, and private keys', async () => {
  const { certificate, key } = await authority;
  const broken = certificate.replace(/\n[^\n]{30}/, '\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  for (const bundle of ['nothing', broken, `${certificate}${broken}`, `${certificate}${key.reveal()}`])
    expect(evaluate(bundle)).toEqual([
      expect.objectContaining({
        field: 'access.oidcIssuers[0].caBundle',
        message: expect.stringContaining('id.example.org'),
      }),
    ]);
});
