import { describe, expect, it } from 'vitest';
import { expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind } from '../../support/widgets.ts';

/** Discovery, versions and health endpoints of a server. */
export function testDiscovery(server: () => ServerUnderTest): void {
  describe('discovery', () => {
    const find = (list: Body[], name: string): Body => list.find((one) => one.name === name || one.resource === name);

    it('/version returns major, minor, gitVersion and platform', async () => {
      const body = expectSuccess(await server().admin.get('/version'));
      expect(body.major).toMatch(/^\d+$/);
      expect(body.minor).toMatch(/^\d+\+?$/);
      expect(body.gitVersion).toMatch(/^v\d+\.\d+\.\d+/);
      expect(body.gitVersion.startsWith(`v${body.major}.${body.minor.replace('+', '')}.`)).toBe(true);
      expect(body.platform).toMatch(/^\w+\/\w+$/);
      expect(body).toHaveProperty('goVersion');
    });

    it.each(['/healthz', '/livez', '/readyz'])('%s returns ok as plain text', async (path) => {
      const answer = await server().admin.get(path, { accept: '*/*' });
      expect([answer.status, answer.text]).toEqual([200, 'ok']);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    });

    it('/readyz?verbose lists its checks', async () => {
      const answer = await server().admin.get('/readyz', { accept: '*/*', query: { verbose: '' } });
      expect(answer.text).toMatch(/^\[\+\]ping ok\n/);
      expect(answer.text).toMatch(/readyz check passed\n$/);
    });

    it('/api lists the core versions', async () => {
      const body = expectSuccess(await server().admin.get('/api'));
      expect(body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
      expect(body.serverAddressByClientCIDRs.length).toBeGreaterThan(0);
    });

    it('/apis lists groups, their versions and the preferred one', async () => {
      const body = expectSuccess(await server().admin.get('/apis'));
      expect(body).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' });
      for (const name of [
        'apps',
        'batch',
        'rbac.authorization.k8s.io',
        'apiextensions.k8s.io',
        'coordination.k8s.io',
      ]) {
        const preferred = { groupVersion: `${name}/v1`, version: 'v1' };
        expect(find(body.groups, name)).toMatchObject({ name, preferredVersion: preferred });
        expect(find(body.groups, name).versions).toContainEqual(preferred);
      }
    });

    it('/api/v1 lists the core kinds with names, verbs and short names', async () => {
      const body = expectSuccess(await server().admin.get('/api/v1'));
      expect(body).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
      expect(find(body.resources, 'configmaps')).toMatchObject({
        name: 'configmaps',
        singularName: 'configmap',
        namespaced: true,
        kind: 'ConfigMap',
        shortNames: ['cm'],
      });
      expect([...find(body.resources, 'configmaps').verbs].sort()).toEqual([
        'create',
        'delete',
        'deletecollection',
        'get',
        'list',
        'patch',
        'update',
        'watch',
      ]);
      expect(find(body.resources, 'namespaces')).toMatchObject({ namespaced: false, shortNames: ['ns'] });
      expect(find(body.resources, 'namespaces').verbs).not.toContain('deletecollection');
      expect(find(body.resources, 'namespaces/finalize')).toMatchObject({ kind: 'Namespace', verbs: ['update'] });
      expect(find(body.resources, 'serviceaccounts/token')).toMatchObject({
        group: 'authentication.k8s.io',
        version: 'v1',
        kind: 'TokenRequest',
        verbs: ['create'],
      });
      for (const [name, kind] of [
        ['secrets', 'Secret'],
        ['serviceaccounts', 'ServiceAccount'],
        ['events', 'Event'],
        ['nodes', 'Node'],
        ['pods', 'Pod'],
        ['services', 'Service'],
      ] as const)
        expect(find(body.resources, name)).toMatchObject({ kind });
      expect(find(body.resources, 'pods').categories).toContain('all');
    });

    it('/apis/<group> returns the versions of one group', async () => {
      const body = expectSuccess(await server().admin.get('/apis/apps'));
      expect(body).toMatchObject({
        kind: 'APIGroup',
        apiVersion: 'v1',
        name: 'apps',
        preferredVersion: { groupVersion: 'apps/v1' },
      });
    });

    it('an unknown /apis/<group>/<version> returns 404', async () => {
      expect((await server().admin.get('/apis/nobody.example.com/v1')).status).toBe(404);
      expect((await server().admin.get('/apis/apps/v0')).status).toBe(404);
    });

    it('reviews only support create', async () => {
      const body = expectSuccess(await server().admin.get('/apis/authorization.k8s.io/v1'));
      expect(find(body.resources, 'selfsubjectaccessreviews').verbs).toEqual(['create']);
    });

    it('the OpenAPI v3 index links to the schema of a custom kind', async () => {
      const { group } = server();
      await ensureWidgetKind(server());
      const { body } = await eventuallyResponds(
        'the schema is published',
        () => server().admin.get('/openapi/v3'),
        (answer) => answer.body?.paths?.[`apis/${group}/v1`] !== undefined,
      );
      const url = body.paths[`apis/${group}/v1`].serverRelativeURL;
      expect(url).toMatch(new RegExp(`^/openapi/v3/apis/${group}/v1\\?hash=[0-9A-F]+$`));
      const document = expectSuccess(await server().admin.get(url));
      const schemas = Object.values<Body>(document.components.schemas);
      const schema = schemas.find((one) =>
        one['x-kubernetes-group-version-kind']?.some((kind: Body) => kind.kind === 'Widget'),
      );
      expect(schema.properties.spec.properties.size).toMatchObject({ type: 'integer', description: 'How big it is.' });
    });
  });
}
