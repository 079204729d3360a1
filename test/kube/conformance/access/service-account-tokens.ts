import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { getUserInfo, serviceAccountsIn, tokenClaims, tokenHeader } from '../../support/service-accounts.ts';

/** Tokens of a ServiceAccount: their claims, their lifetime, and their expiry. */
export function testServiceAccountTokens(server: () => ServerUnderTest): void {
  describe.concurrent('identity', () => {
    let namespace: string;
    const { path: accounts, make: account, request } = serviceAccountsIn(server, () => namespace);

    beforeAll(async () => {
      namespace = await server().namespace('identity');
    });

    describe('tokens of a ServiceAccount', () => {
      it('are signed claims with subject, issuer, audience and expiry', async () => {
        const made = await account();
        const { name, uid } = made.metadata;
        const before = Math.floor(Date.now() / 1000);
        const body = expectSuccess(await request(name, { expirationSeconds: 3600 }), 201);
        expect(body).toMatchObject({
          kind: 'TokenRequest',
          apiVersion: 'authentication.k8s.io/v1',
          metadata: { name, namespace },
        });
        const claims = tokenClaims(body.status.token);
        expect(claims).toMatchObject({
          iss: expect.any(String),
          sub: `system:serviceaccount:${namespace}:${name}`,
          jti: expect.any(String),
          'kubernetes.io': { namespace, serviceaccount: { name, uid } },
        });
        expect(Array.isArray(claims.aud)).toBe(true);
        expect(claims.exp - claims.iat).toBe(3600);
        expect(claims.nbf).toBe(claims.iat);
        expect(Math.abs(claims.iat - before)).toBeLessThanOrEqual(5);
        expect(Date.parse(body.status.expirationTimestamp) / 1000).toBe(claims.exp);
        expect(tokenHeader(body.status.token)).toMatchObject({
          alg: expect.stringMatching(/^(RS|ES)256$/),
          kid: expect.any(String),
        });
        expect(body.spec.expirationSeconds).toBe(3600);
        expect(body.spec.audiences).toEqual(claims.aud);
      });

      it('authenticate the ServiceAccount', async () => {
        const { metadata } = await account();
        const { token } = expectSuccess(await request(metadata.name), 201).status;
        const user = await getUserInfo(server().as({ token, cert: undefined, key: undefined }));
        expect(user.username).toBe(`system:serviceaccount:${namespace}:${metadata.name}`);
        expect(user.uid).toBe(metadata.uid);
        expect([...user.groups].sort()).toEqual([
          'system:authenticated',
          'system:serviceaccounts',
          `system:serviceaccounts:${namespace}`,
        ]);
      });

      it('last an hour by default', async () => {
        const claims = tokenClaims(expectSuccess(await request((await account()).metadata.name), 201).status.token);
        expect(claims.exp - claims.iat).toBe(3600);
      });

      it('last at least ten minutes', async () => {
        const { name } = (await account()).metadata;
        const status = expectRejection(await request(name, { expirationSeconds: 599 }), 422, 'Invalid');
        expect(status.details.causes).toEqual([
          {
            reason: 'FieldValueInvalid',
            message: 'Invalid value: 599: may not specify a duration less than 10 minutes',
            field: 'spec.expirationSeconds',
          },
        ]);
        expectSuccess(await request(name, { expirationSeconds: 600 }), 201);
      });

      it('for another audience do not authenticate here', async () => {
        const { token } = expectSuccess(
          await request((await account()).metadata.name, { audiences: ['elsewhere'] }),
          201,
        ).status;
        expect(tokenClaims(token).aud).toEqual(['elsewhere']);
        expectRejection(await server().as({ token, cert: undefined, key: undefined }).get('/api'), 401, 'Unauthorized');
      });

      it('of an account that does not exist end in 404', async () => {
        const status = expectRejection(await request('nobody'), 404, 'NotFound');
        expect(status.message).toBe('serviceaccounts "nobody" not found');
      });

      it('are invalid when the account is deleted, also after one of the same name is created', async () => {
        const { admin } = server();
        const { name } = (await account()).metadata;
        const { token } = expectSuccess(await request(name), 201).status;
        const wire = server().as({ token, cert: undefined, key: undefined });
        expectSuccess(await wire.get('/api'));
        expectSuccess(await admin.delete(accounts(name)));
        // A server may cache a valid token for ten seconds.
        await eventuallyResponds(
          'void',
          () => wire.get('/api'),
          ({ status }) => status === 401,
          20,
        );
        expectSuccess(await admin.post(accounts(), { metadata: { name } }), 201);
        expectRejection(await wire.get('/api'), 401, 'Unauthorized');
      }, 40_000);

      it('can be bound to a Secret, and are invalid when it is deleted', async () => {
        const { admin } = server();
        const { name } = (await account()).metadata;
        const secrets = `/api/v1/namespaces/${namespace}/secrets`;
        const secret = expectSuccess(await admin.post(secrets, { metadata: { name } }), 201);
        const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name, uid: secret.metadata.uid };
        const { token } = expectSuccess(await request(name, { boundObjectRef }), 201).status;
        expect(tokenClaims(token)['kubernetes.io'].secret).toEqual({ name, uid: secret.metadata.uid });
        const wire = server().as({ token, cert: undefined, key: undefined });
        expectSuccess(await wire.get('/api'));
        expectSuccess(await admin.delete(`${secrets}/${name}`));
        await eventuallyResponds(
          'void',
          () => wire.get('/api'),
          ({ status }) => status === 401,
          20,
        );
      }, 40_000);

      it('with one changed letter are invalid', async () => {
        const { token } = expectSuccess(await request((await account()).metadata.name), 201).status;
        const [header, payload, signature] = token.split('.');
        const forgedServer = { ...tokenClaims(token), sub: 'system:serviceaccount:kube-system:default' };
        const text = Buffer.from(JSON.stringify(forgedServer)).toString('base64url');
        const wrong = `${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`;
        for (const bad of [`${header}.${text}.${signature}`, wrong, `${header}.${payload}.`])
          expectRejection(
            await server().as({ token: bad, cert: undefined, key: undefined }).get('/api'),
            401,
            'Unauthorized',
          );
      });

      it('can be verified by others with the keys', async () => {
        const { token } = expectSuccess(await request((await account()).metadata.name), 201).status;
        const { keys } = expectSuccess(
          await server().admin.get('/openid/v1/jwks', { accept: 'application/jwk-set+json' }),
        );
        const key = keys.find((one: Body) => one.kid === tokenHeader(token).kid);
        expect(key).toMatchObject({ use: 'sig', alg: tokenHeader(token).alg });
        const { createPublicKey, createVerify } = await import('node:crypto');
        const [header, payload, signature] = token.split('.');
        const check = createVerify('SHA256').update(`${header}.${payload}`);
        const publicKey = createPublicKey({ key, format: 'jwk' });
        expect(check.verify({ key: publicKey, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))).toBe(
          true,
        );
      });
    });
  });
}
