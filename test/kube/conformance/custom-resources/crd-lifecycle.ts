import { describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import {
  crdsPath,
  describeSuiteCrd,
  ensureWidgetKind,
  hasTrueCondition,
  installCrd,
  randomName,
} from '../../support/widgets.ts';

/** The lifecycle of a CustomResourceDefinition, and the reasons for its rejection. */
export function testCrdLifecycle(server: () => ServerUnderTest): void {
  describe.concurrent('definitions', () => {
    const object = (properties: Body, more: Body = {}): Body => ({ type: 'object', properties, ...more });
    const spec = (properties: Body, more: Body = {}): Body => object({ spec: object(properties, more) });
    const names = () => {
      const plural = `${randomName()}s`;
      return { plural, kind: plural.charAt(0).toUpperCase() + plural.slice(1) };
    };

    describe('lifecycle', () => {
      it('ends in NamesAccepted and Established, with accepted names and stored versions in the status', async () => {
        const { admin } = server();
        const body = describeSuiteCrd(server(), names(), spec({}));
        await installCrd(server(), body);
        const seen = expectSuccess(await admin.get(`${crdsPath}/${body.metadata.name}`));
        expect(seen.status.acceptedNames).toMatchObject({
          plural: body.spec.names.plural,
          singular: body.spec.names.kind.toLowerCase(),
          kind: body.spec.names.kind,
          listKind: `${body.spec.names.kind}List`,
        });
        expect(seen.status.storedVersions).toEqual(['v1']);
        expect(seen.spec.names, 'defaults are written into the spec').toMatchObject({
          listKind: `${body.spec.names.kind}List`,
        });
        expect(seen.spec.conversion).toEqual({ strategy: 'None' });
        const reasons = seen.status.conditions.map(({ type, status, reason }: Body) => [type, status, reason]);
        expect(reasons).toEqual(
          expect.arrayContaining([
            ['NamesAccepted', 'True', 'NoConflicts'],
            ['Established', 'True', 'InitialNamesAccepted'],
          ]),
        );
      });

      it('appears in discovery with verbs, short names, categories and the status sub-resource', async () => {
        const { admin, group, suffix } = server();
        await ensureWidgetKind(server());
        const list = await eventuallyResponds(
          'widgets in discovery',
          () => admin.get(`/apis/${group}/v1`),
          ({ body }) => body?.resources?.some((resource: Body) => resource.name === 'widgets'),
        );
        expect(list.body).toMatchObject({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1` });
        const find = (name: string) => list.body.resources.find((resource: Body) => resource.name === name);
        expect(find('widgets')).toMatchObject({
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          shortNames: [`w${suffix}`],
          categories: [`c${suffix}`],
        });
        expect([...find('widgets').verbs].sort()).toEqual([
          'create',
          'delete',
          'deletecollection',
          'get',
          'list',
          'patch',
          'update',
          'watch',
        ]);
        expect([...find('widgets/status').verbs].sort()).toEqual(['get', 'patch', 'update']);
        const groups = expectSuccess(await admin.get('/apis')).groups;
        expect(groups.find((one: Body) => one.name === group)).toMatchObject({
          preferredVersion: { groupVersion: `${group}/v1`, version: 'v1' },
        });
      });

      it('serves each served version, stores in one, and converts by changing apiVersion only', async () => {
        const { admin, group } = server();
        const schema = spec({ a: { type: 'string' } });
        const body = describeSuiteCrd(server(), names(), schema);
        body.spec.versions.push({
          name: 'v1alpha1',
          served: true,
          storage: false,
          schema: { openAPIV3Schema: schema },
        });
        body.spec.versions.push({ name: 'v0', served: false, storage: false, schema: { openAPIV3Schema: schema } });
        const namespace = await server().namespace('versions');
        await installCrd(server(), body);
        const path = (v: string) => `/apis/${group}/${v}/namespaces/${namespace}/${body.spec.names.plural}`;
        const { kind } = body.spec.names;
        expectSuccess(
          await admin.post(path('v1alpha1'), {
            apiVersion: `${group}/v1alpha1`,
            kind,
            metadata: { name: 'x' },
            spec: { a: '1' },
          }),
          201,
        );
        expect(expectSuccess(await admin.get(`${path('v1')}/x`))).toMatchObject({
          apiVersion: `${group}/v1`,
          spec: { a: '1' },
        });
        expect((await admin.get(`${path('v0')}/x`)).status).toBe(404);
      });

      it('deletes its objects first when it is deleted', async () => {
        const { admin, group } = server();
        const body = describeSuiteCrd(server(), names(), spec({}), { scope: 'Cluster' });
        const path = await installCrd(server(), body);
        const { kind } = body.spec.names;
        expectSuccess(
          await admin.post(path, {
            apiVersion: `${group}/v1`,
            kind,
            metadata: { name: 'held', finalizers: ['example.com/x'] },
          }),
          201,
        );
        const definitionPath = `${crdsPath}/${body.metadata.name}`;
        const before = expectSuccess(await admin.get(definitionPath));
        expect(before.metadata.finalizers ?? []).toEqual([]);
        const marked = expectSuccess(await admin.delete(definitionPath));
        expect(marked.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
        await eventuallyResponds(
          'the object is marked',
          () => admin.get(`${path}/held`),
          ({ body: held }) => Boolean(held?.metadata?.deletionTimestamp),
        );
        expectSuccess(await admin.get(definitionPath));
        expectSuccess(await admin.merge(`${path}/held`, { metadata: { finalizers: null } }));
        await eventuallyResponds(
          'the definition is gone',
          () => admin.get(definitionPath),
          ({ status }) => status === 404,
          30,
        );
        await eventuallyResponds(
          'the path is gone',
          () => admin.get(path),
          ({ status }) => status === 404,
        );
      }, 60_000);

      it('applies a changed schema to objects that are written after the change', async () => {
        const { admin, group } = server();
        const body = describeSuiteCrd(server(), names(), spec({ a: { type: 'string' } }), { scope: 'Cluster' });
        const path = await installCrd(server(), body);
        const { kind } = body.spec.names;
        const make = (name: string, value: string) =>
          admin.post(path, { apiVersion: `${group}/v1`, kind, metadata: { name }, spec: { a: value } });
        expectSuccess(await make('old', 'long'), 201);
        const schema = spec({ a: { type: 'string', maxLength: 2 }, b: { type: 'integer', default: 5 } });
        const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: schema }];
        expectSuccess(await admin.jsonPatch(`${crdsPath}/${body.metadata.name}`, patch));
        await eventuallyResponds(
          'the new schema',
          () => make(randomName(), 'long'),
          ({ status }) => status === 422,
        );
        expect(expectSuccess(await admin.get(`${path}/old`)).spec, 'a default shows on reading too').toEqual({
          a: 'long',
          b: 5,
        });
      });

      it('allows changes elsewhere in an object with an old violation (ratcheting)', async () => {
        const { admin, group } = server();
        const body = describeSuiteCrd(server(), names(), spec({ a: { type: 'string' }, b: { type: 'string' } }), {
          scope: 'Cluster',
        });
        const path = await installCrd(server(), body);
        const { kind } = body.spec.names;
        expectSuccess(
          await admin.post(path, {
            apiVersion: `${group}/v1`,
            kind,
            metadata: { name: 'old' },
            spec: { a: 'too long', b: 'x' },
          }),
          201,
        );
        const value = spec({ a: { type: 'string', maxLength: 2 }, b: { type: 'string' } });
        const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value }];
        expectSuccess(await admin.jsonPatch(`${crdsPath}/${body.metadata.name}`, patch));
        await eventuallyResponds(
          'the new schema',
          () =>
            admin.post(path, {
              apiVersion: `${group}/v1`,
              kind,
              metadata: { name: randomName() },
              spec: { a: 'long' },
            }),
          ({ status }) => status === 422,
        );
        expectSuccess(await admin.merge(`${path}/old`, { spec: { b: 'y' } }));
        expectRejection(await admin.merge(`${path}/old`, { spec: { a: 'still too long' } }), 422, 'Invalid');
      });

      it('is not accepted under a plural or kind of another definition of the group', async () => {
        const { admin } = server();
        await ensureWidgetKind(server());
        const body = describeSuiteCrd(server(), { kind: 'Widget', plural: `${randomName()}s` }, spec({}));
        expectSuccess(await admin.post(crdsPath, body), 201);
        server().deleteLater(`${crdsPath}/${body.metadata.name}`);
        const { body: seen } = await eventuallyResponds(
          'the conflict',
          () => admin.get(`${crdsPath}/${body.metadata.name}`),
          ({ body: one }) =>
            one.status?.conditions?.some((c: Body) => c.type === 'NamesAccepted' && c.status === 'False'),
        );
        expect(hasTrueCondition(seen, 'Established')).toBe(false);
        const condition = seen.status.conditions.find((c: Body) => c.type === 'NamesAccepted');
        expect(condition.reason).toMatch(/KindConflict$/);
      });

      it('has an immutable scope, group and plural', async () => {
        const { admin } = server();
        const body = describeSuiteCrd(server(), names(), spec({}));
        await installCrd(server(), body);
        const path = `${crdsPath}/${body.metadata.name}`;
        const scope = expectRejection(await admin.merge(path, { spec: { scope: 'Cluster' } }), 422, 'Invalid');
        expect(causesOf(scope)).toEqual(['spec.scope: Invalid value: "Cluster": field is immutable']);
        expectRejection(await admin.merge(path, { spec: { group: 'other.example.com' } }), 422, 'Invalid');
      });

      it('increments its generation when its spec changes', async () => {
        const { admin } = server();
        const body = describeSuiteCrd(server(), names(), spec({}));
        await installCrd(server(), body);
        const path = `${crdsPath}/${body.metadata.name}`;
        expectSuccess(await admin.merge(path, { metadata: { labels: { a: 'b' } } }));
        expect(expectSuccess(await admin.get(path)).metadata.generation).toBe(1);
        expectSuccess(await admin.merge(path, { spec: { names: { shortNames: [`x${randomName()}`] } } }));
        expect(expectSuccess(await admin.get(path)).metadata.generation).toBe(2);
      });

      it('can be applied repeatedly by a field manager without a change', async () => {
        const { admin } = server();
        const body = describeSuiteCrd(server(), names(), spec({ a: { type: 'string', default: 'x' } }));
        const path = `${crdsPath}/${body.metadata.name}`;
        server().deleteLater(path);
        expectSuccess(await admin.apply(path, body, 'init'), 201);
        await eventuallyResponds(
          'Established',
          () => admin.get(path),
          ({ body: one }) => hasTrueCondition(one, 'Established'),
        );
        const first = expectSuccess(await admin.apply(path, body, 'init'));
        const second = expectSuccess(await admin.apply(path, body, 'init'));
        expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
        expect(second.metadata.generation).toBe(1);
      });
    });
  });
}
