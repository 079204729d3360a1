import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body, RawKubeClient } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { getUserInfo, reviewPaths, serviceAccountsIn, tokenClaims } from '../../support/service-accounts.ts';

/** User identity by token, certificate or impersonation, and the content of a ServiceAccount token. */
export function testIdentity(server: () => ServerUnderTest): void {
  describe('identity', () => {
    let namespace: string;
    const { make: account, request } = serviceAccountsIn(server, () => namespace);

    beforeAll(async () => {
      namespace = await server().namespace('identity');
    });

    describe('requests', () => {
      it('with an unknown token end in 401 on every path', async () => {
        const wire = server().as({ token: 'nonsense', cert: undefined, key: undefined });
        const status = expectRejection(await wire.get('/api/v1/namespaces'), 401, 'Unauthorized');
        expect(status.message).toBe('Unauthorized');
        expectRejection(await wire.get('/nothing'), 401, 'Unauthorized');
      });

      it('without credentials are those of system:anonymous, or rejected', async () => {
        const answer = await server().anonymous().get('/api/v1/namespaces');
        expect([401, 403]).toContain(answer.status);
        if (answer.status === 403)
          expect(answer.body.message).toBe(
            'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope',
          );
      });

      it('with a client certificate are those of its common name and organizations', async (context) => {
        const { clientCertificate } = server().platform;
        if (!clientCertificate) return context.skip('no certificate can be had for this server');
        const pair = await clientCertificate('jane', ['developers', 'testers']);
        const wire = server().as({ ...pair, token: undefined });
        const user = await getUserInfo(wire);
        expect(user.username).toBe('jane');
        expect([...user.groups].sort()).toEqual(['developers', 'system:authenticated', 'testers']);
        expect(expectRejection(await wire.get('/api/v1/secrets'), 403, 'Forbidden').message).toContain(
          'User "jane" cannot list',
        );
      });

      it('with a client certificate of system:masters may do everything', async (context) => {
        const { clientCertificate } = server().platform;
        if (!clientCertificate) return context.skip('no certificate can be had for this server');
        const wire = server().as({ ...(await clientCertificate('root', ['system:masters'])), token: undefined });
        expectSuccess(await wire.get('/api/v1/secrets'));
      });

      it('with a client certificate of another authority count as anonymous', async () => {
        const { createTestAuthority: createAuthority } = await import('../../../peers/test-authority.ts');
        const pair = await (await createAuthority('strangers')).client('root', ['system:masters']);
        const answer = await server()
          .as({ ...pair, token: undefined })
          .get('/api/v1/secrets');
        expect(answer.status).toBe(401);
      });
    });

    describe('impersonation', () => {
      it('makes a request that of another user, with the given groups', async () => {
        const user = await getUserInfo(server().impersonating('jane', ['testers']));
        expect(user.username).toBe('jane');
        expect([...user.groups].sort()).toEqual(['system:authenticated', 'testers']);
      });

      it('of a ServiceAccount includes its groups', async () => {
        const user = await getUserInfo(server().impersonating(`system:serviceaccount:${namespace}:default`));
        expect(user.username).toBe(`system:serviceaccount:${namespace}:default`);
        expect([...user.groups].sort()).toEqual([
          'system:authenticated',
          'system:serviceaccounts',
          `system:serviceaccounts:${namespace}`,
        ]);
      });

      it('requires its own right', async () => {
        const { token } = expectSuccess(await request((await account()).metadata.name), 201).status;
        const wire = server().as({ token, cert: undefined, key: undefined }).impersonating('jane');
        server().later(() => wire.close());
        const status = expectRejection(await wire.get('/api/v1/secrets'), 403, 'Forbidden');
        // Before 1.36 the message names the user that may not be impersonated, since then the single action.
        expect(status.message).toMatch(/ is forbidden: User "system:serviceaccount:.*" cannot impersonate/);
      });

      it('of groups without a user is rejected', async () => {
        const answer = await server().admin.get('/api/v1/namespaces', { headers: { 'impersonate-group': 'x' } });
        expect(answer.status).toBeGreaterThanOrEqual(400);
      });
    });

    describe('reviews', () => {
      it('SelfSubjectReview returns the user of the request', async () => {
        const body = expectSuccess(await server().admin.post(reviewPaths.self, {}), 201);
        expect(body).toMatchObject({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' });
        expect(body.status.userInfo.groups).toContain('system:authenticated');
      });

      it('TokenReview returns the user of a token, and none for an invalid one', async () => {
        const { metadata } = await account();
        const { token } = expectSuccess(await request(metadata.name), 201).status;
        const good = expectSuccess(await server().admin.post(reviewPaths.token, { spec: { token } }), 201);
        expect(good.status).toMatchObject({
          authenticated: true,
          user: { username: `system:serviceaccount:${namespace}:${metadata.name}`, uid: metadata.uid },
        });
        expect(good.status.audiences).toEqual(tokenClaims(token).aud);
        const bad = expectSuccess(await server().admin.post(reviewPaths.token, { spec: { token: 'nonsense' } }), 201);
        expect(bad.status.authenticated ?? false).toBe(false);
        expect(bad.status.error).toBeTruthy();
      });

      it('SelfSubjectAccessReview predicts the decision of a request', async () => {
        const ask = async (wire: RawKubeClient, resourceAttributes: Body) =>
          expectSuccess(await wire.post(reviewPaths.access, { spec: { resourceAttributes } }), 201).status;
        const attributes = { namespace, verb: 'get', resource: 'secrets' };
        expect((await ask(server().admin, attributes)).allowed).toBe(true);
        expect((await ask(server().impersonating('stranger', ['system:authenticated']), attributes)).allowed).toBe(
          false,
        );
      });

      it('SelfSubjectAccessReview accepts a resource or a path, and rejects both or neither', async () => {
        const ask = (spec: Body) => server().admin.post(reviewPaths.access, { spec });
        expect(
          expectSuccess(await ask({ nonResourceAttributes: { path: '/metrics', verb: 'get' } }), 201).status.allowed,
        ).toBe(true);
        expectRejection(await ask({}), 422, 'Invalid');
        const both = {
          nonResourceAttributes: { path: '/', verb: 'get' },
          resourceAttributes: { verb: 'get', resource: 'pods' },
        };
        expectRejection(await ask(both), 422, 'Invalid');
      });

      it('SubjectAccessReview answers for another user', async () => {
        const spec = {
          user: `system:serviceaccount:${namespace}:default`,
          resourceAttributes: { namespace, verb: 'get', resource: 'secrets' },
        };
        const body = expectSuccess(await server().admin.post(reviewPaths.subject, { spec }), 201);
        expect(body.status.allowed).toBe(false);
        const masters = { user: 'x', groups: ['system:masters'], resourceAttributes: spec.resourceAttributes };
        expect(
          expectSuccess(await server().admin.post(reviewPaths.subject, { spec: masters }), 201).status.allowed,
        ).toBe(true);
      });

      it("SelfSubjectRulesReview lists the user's rights in a namespace", async () => {
        const body = expectSuccess(await server().admin.post(reviewPaths.rules, { spec: { namespace } }), 201);
        expect(body.status.incomplete).toBe(false);
        expect(body.status.resourceRules).toEqual(
          expect.arrayContaining([expect.objectContaining({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] })]),
        );
        expect(body.status.nonResourceRules.length).toBeGreaterThan(0);
        expectRejection(await server().admin.post(reviewPaths.rules, { spec: {} }), 400, 'BadRequest');
      });
    });
  });
}
