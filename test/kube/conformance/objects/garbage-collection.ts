import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Deletions by controllers: dependents without owners, and the content of a namespace. They are asynchronous. */
export function testGarbageCollection(server: () => ServerUnderTest): void {
  describe.concurrent('deletion', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const make = async (name: string, more: Body = {}) =>
      expectSuccess(await server().admin.post(maps(), { metadata: { name, ...more } }), 201);
    const gone = (path: string) =>
      eventuallyResponds(
        `${path} gone`,
        () => server().admin.get(path),
        ({ status }) => status === 404,
      );

    beforeAll(async () => {
      namespace = await server().namespace('deletion');
      widget = await ensureWidgetKind(server());
    });

    describe('of owners (with garbage collection)', () => {
      const ownerReference = (owner: Body, more: Body = {}) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        ...more,
      });

      it('deletes their dependents', async () => {
        const owner = await make('owner');
        await make('owned', { ownerReferences: [ownerReference(owner)] });
        await make('free');
        expectSuccess(await server().admin.delete(maps('owner')));
        await gone(maps('owned'));
        expectSuccess(await server().admin.get(maps('free')));
      });

      it('works across kinds, built-in and custom', async () => {
        const { admin } = server();
        const owner = expectSuccess(await admin.post(widget.path(namespace), widget.make('parent')), 201);
        const reference = { apiVersion: widget.apiVersion, kind: widget.kind, name: 'parent', uid: owner.metadata.uid };
        await make('child', { ownerReferences: [reference] });
        expectSuccess(await admin.delete(widget.path(namespace, 'parent')));
        // A garbage collector discovers a new kind by polling discovery: the real one every 30 s.
        await eventuallyResponds(
          'child gone',
          () => admin.get(maps('child')),
          ({ status }) => status === 404,
          60,
        );
      }, 90_000);

      it('keeps a dependent that has another owner', async () => {
        const [one, two] = [await make('one'), await make('two')];
        await make('shared', { ownerReferences: [ownerReference(one), ownerReference(two)] });
        expectSuccess(await server().admin.delete(maps('one')));
        await eventuallyResponds(
          'the dead reference is taken off',
          () => server().admin.get(maps('shared')),
          ({ body }) => body.metadata?.ownerReferences?.length === 1,
        );
        expectSuccess(await server().admin.delete(maps('two')));
        await gone(maps('shared'));
      });

      it('with Orphan removes the reference and keeps the rest', async () => {
        const owner = await make('orphaner');
        await make('orphan', { ownerReferences: [ownerReference(owner)] });
        expectSuccess(await server().admin.delete(maps('orphaner'), { propagationPolicy: 'Orphan' }));
        await gone(maps('orphaner'));
        const body = expectSuccess(await server().admin.get(maps('orphan')));
        expect(body.metadata).not.toHaveProperty('ownerReferences');
      });

      it('with Foreground waits for blocking dependents, marked by a finalizer', async () => {
        const { admin } = server();
        const owner = await make('front');
        await make('blocker', {
          finalizers: ['example.com/wait'],
          ownerReferences: [ownerReference(owner, { blockOwnerDeletion: true })],
        });
        const marked = expectSuccess(await admin.delete(maps('front'), { propagationPolicy: 'Foreground' }));
        expect(marked.metadata.finalizers).toEqual(['foregroundDeletion']);
        await eventuallyResponds(
          'blocker marked',
          () => admin.get(maps('blocker')),
          ({ body }) => body.metadata?.deletionTimestamp,
        );
        expectSuccess(await admin.get(maps('front')));
        expectSuccess(await admin.merge(maps('blocker'), { metadata: { finalizers: null } }));
        await gone(maps('front'));
      });

      it('deletes an object whose owner never existed', async () => {
        await make('foundling', {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: '11111111-2222-3333-4444-555555555555' },
          ],
        });
        await gone(maps('foundling'));
      });

      it('rejects an owner reference without a uid, and two controllers', async () => {
        const owner = await make('strict');
        const bare = { apiVersion: 'v1', kind: 'ConfigMap', name: 'strict' };
        expectRejection(
          await server().admin.post(maps(), { metadata: { name: 'x', ownerReferences: [bare] } }),
          422,
          'Invalid',
        );
        const both = [
          ownerReference(owner, { controller: true }),
          ownerReference(owner, { controller: true, uid: '11111111-2222-3333-4444-555555555555' }),
        ];
        expectRejection(
          await server().admin.post(maps(), { metadata: { name: 'x', ownerReferences: both } }),
          422,
          'Invalid',
        );
      });
    });

    describe('of namespaces', () => {
      it('marks the namespace Terminating, deletes its content, and then the namespace', async () => {
        const { admin } = server();
        const name = await server().namespace('doomed');
        const inside = `/api/v1/namespaces/${name}/configmaps/inside`;
        expectSuccess(await admin.post(`/api/v1/namespaces/${name}/configmaps`, { metadata: { name: 'inside' } }), 201);
        const body = expectSuccess(await admin.delete(`/api/v1/namespaces/${name}`));
        expect(body).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
        expect(body.metadata.deletionTimestamp).toBeTruthy();
        await eventuallyResponds(
          'gone',
          () => admin.get(`/api/v1/namespaces/${name}`),
          ({ status }) => status === 404,
          30,
        );
        expectRejection(await admin.get(inside), 404, 'NotFound');
      });

      it('waits for finalizers inside, and rejects new objects meanwhile with 403 and the cause', async () => {
        const { admin } = server();
        const name = await server().namespace('lingering');
        const held = `/api/v1/namespaces/${name}/configmaps/held`;
        const metadata = { name: 'held', finalizers: ['example.com/wait'] };
        expectSuccess(await admin.post(`/api/v1/namespaces/${name}/configmaps`, { metadata }), 201);
        expectSuccess(await admin.delete(`/api/v1/namespaces/${name}`));
        await eventuallyResponds(
          'held marked',
          () => admin.get(held),
          ({ body }) => body.metadata?.deletionTimestamp,
          30,
        );
        const answer = await admin.post(`/api/v1/namespaces/${name}/configmaps`, { metadata: { name: 'new' } });
        const status = expectRejection(answer, 403, 'Forbidden');
        expect(status.message).toBe(
          `configmaps "new" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
        );
        expect(status.details).toEqual({
          name: 'new',
          kind: 'configmaps',
          causes: [
            {
              reason: 'NamespaceTerminating',
              message: `namespace ${name} is being terminated`,
              field: 'metadata.namespace',
            },
          ],
        });
        expectSuccess(await admin.merge(held, { data: { still: 'changeable' } }));
        expectSuccess(await admin.merge(held, { metadata: { finalizers: null } }));
        await eventuallyResponds(
          'gone',
          () => admin.get(`/api/v1/namespaces/${name}`),
          ({ status }) => status === 404,
          30,
        );
      }, 60_000);

      it('keeps the finalizer kubernetes in the spec, which a PATCH of the metadata does not change', async () => {
        const name = await server().namespace('finalized');
        const body = expectSuccess(await server().admin.get(`/api/v1/namespaces/${name}`));
        expect(body.spec).toEqual({ finalizers: ['kubernetes'] });
        expect(body.status).toEqual({ phase: 'Active' });
        expect(body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': name });
      });

      it('rejects the deletion of default and kube-system', async () => {
        for (const name of ['default', 'kube-system']) {
          const status = expectRejection(
            await server().admin.delete(`/api/v1/namespaces/${name}`, { dryRun: ['All'] }),
            403,
            'Forbidden',
          );
          expect(status.message).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`);
        }
      });

      it('creates the ServiceAccount default and the ConfigMap kube-root-ca.crt in each new one', async () => {
        const path = `/api/v1/namespaces/${await server().namespace('accounts')}`;
        expectSuccess(await server().admin.get(`${path}/serviceaccounts/default`));
        const { data } = expectSuccess(await server().admin.get(`${path}/configmaps/kube-root-ca.crt`));
        expect(data['ca.crt']).toMatch(/^-----BEGIN CERTIFICATE-----/);
      });
    });
  });
}
