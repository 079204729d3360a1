import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess, namesOf } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Deletion: finalizers, preconditions, owners, collections and namespaces. */
export function testDeletion(server: () => ServerUnderTest): void {
  describe('deletion', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const make = async (name: string, more: Body = {}) =>
      expectSuccess(await server().admin.post(maps(), { metadata: { name, ...more } }), 201);

    beforeAll(async () => {
      namespace = await server().namespace('deletion');
      widget = await ensureWidgetKind(server());
    });

    it('of a plain object returns a Success status that names it, and takes effect at once', async () => {
      const made = await make('plain');
      const body = expectSuccess(await server().admin.delete(maps('plain')));
      expect(body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'plain', kind: 'configmaps', uid: made.metadata.uid },
      });
      expectRejection(await server().admin.get(maps('plain')), 404, 'NotFound');
    });

    it('of a missing object ends in 404', async () => {
      expectRejection(await server().admin.delete(maps('nothing')), 404, 'NotFound');
    });

    it('of an object that was already deleted ends in 404', async () => {
      await make('twice');
      expectSuccess(await server().admin.delete(maps('twice')));
      expectRejection(await server().admin.delete(maps('twice')), 404, 'NotFound');
    });

    describe('with finalizers', () => {
      it('marks the object, returns it, and waits until the last finalizer is removed', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'held');
        const metadata = { name: 'held', finalizers: ['example.com/a', 'example.com/b'] };
        const made = expectSuccess(
          await admin.post(widget.path(namespace), widget.make('held', {}, { metadata })),
          201,
        );
        const marked = expectSuccess(await admin.delete(path));
        expect(marked.kind).toBe('Widget');
        expect(marked.metadata.deletionTimestamp).toMatch(/Z$/);
        expect(marked.metadata.deletionGracePeriodSeconds).toBe(0);
        expect(marked.metadata.generation, 'being deleted is a wish, so the generation moves').toBe(
          made.metadata.generation + 1,
        );
        const one = expectSuccess(await admin.merge(path, { metadata: { finalizers: ['example.com/b'] } }));
        expect(one.metadata.deletionTimestamp).toBe(marked.metadata.deletionTimestamp);
        const last = expectSuccess(await admin.merge(path, { metadata: { finalizers: null } }));
        expect(last.metadata.name).toBe('held');
        expectRejection(await admin.get(path), 404, 'NotFound');
      });

      it('may be repeated: the deletion timestamp does not change', async () => {
        const { admin } = server();
        await make('again', { finalizers: ['example.com/a'] });
        const first = expectSuccess(await admin.delete(maps('again')));
        const second = expectSuccess(await admin.delete(maps('again')));
        expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp);
        expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
        expectSuccess(await admin.merge(maps('again'), { metadata: { finalizers: null } }));
      });

      it('rejects a new finalizer on an object that is being deleted', async () => {
        const { admin } = server();
        await make('late', { finalizers: ['example.com/a'] });
        expectSuccess(await admin.delete(maps('late')));
        const patch = { metadata: { finalizers: ['example.com/a', 'example.com/b'] } };
        const status = expectRejection(await admin.merge(maps('late'), patch), 422, 'Invalid');
        expect(status.details.causes[0]).toEqual({
          reason: 'FieldValueForbidden',
          message:
            'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
          field: 'metadata.finalizers',
        });
        expectSuccess(await admin.merge(maps('late'), { metadata: { finalizers: null } }));
      });

      it('allows other changes of such an object', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'alive');
        const metadata = { name: 'alive', finalizers: ['example.com/a'] };
        expectSuccess(await admin.post(widget.path(namespace), widget.make('alive', {}, { metadata })), 201);
        expectSuccess(await admin.delete(path));
        expect(expectSuccess(await admin.merge(path, { spec: { size: 3 } })).spec.size).toBe(3);
        expectSuccess(
          await admin.merge(widget.path(namespace, 'alive', 'status'), { status: { phase: 'Terminating' } }),
        );
        expectSuccess(await admin.merge(path, { metadata: { finalizers: null } }));
      });

      it('keeps the deletion timestamp when a replace leaves it out', async () => {
        const { admin } = server();
        await make('marked', { finalizers: ['example.com/a'] });
        const marked = expectSuccess(await admin.delete(maps('marked')));
        const { deletionTimestamp: _, ...metadata } = marked.metadata;
        const put = expectSuccess(await admin.put(maps('marked'), { ...marked, metadata }));
        expect(put.metadata.deletionTimestamp).toBe(marked.metadata.deletionTimestamp);
        expectSuccess(await admin.merge(maps('marked'), { metadata: { finalizers: null } }));
      });

      it('rejects a finalizer without a domain on a core kind', async () => {
        const status = expectRejection(
          await server().admin.post(maps(), { metadata: { name: 'x', finalizers: ['nodomain'] } }),
          422,
          'Invalid',
        );
        expect(status.details.causes[0].field).toBe('metadata.finalizers[0]');
      });
    });

    describe('with preconditions', () => {
      it('keeps an object with another uid (409)', async () => {
        const made = await make('uid');
        const uid = '00000000-0000-0000-0000-000000000000';
        const status = expectRejection(
          await server().admin.delete(maps('uid'), { preconditions: { uid } }),
          409,
          'Conflict',
        );
        expect(status.message).toBe(
          `Operation cannot be fulfilled on ConfigMap "uid": the UID in the precondition (${uid}) does not match the UID in record (${made.metadata.uid}). The object might have been deleted and then recreated`,
        );
        expectSuccess(await server().admin.delete(maps('uid'), { preconditions: { uid: made.metadata.uid } }));
      });

      it('keeps an object with another resourceVersion (409)', async () => {
        const made = await make('version');
        expectSuccess(await server().admin.merge(maps('version'), { data: { a: '1' } }));
        const preconditions = { resourceVersion: made.metadata.resourceVersion };
        const status = expectRejection(
          await server().admin.delete(maps('version'), { preconditions }),
          409,
          'Conflict',
        );
        expect(status.message).toMatch(
          /^Operation cannot be fulfilled on ConfigMap "version": the ResourceVersion in the precondition \(\d+\) does not match the ResourceVersion in record \(\d+\)\. The object might have been modified$/,
        );
        expectSuccess(await server().admin.get(maps('version')));
      });
    });

    it('with dryRun in the query or in the body keeps the object', async () => {
      await make('dry');
      expectSuccess(await server().admin.delete(maps('dry'), undefined, { query: { dryRun: 'All' } }));
      expectSuccess(await server().admin.delete(maps('dry'), { dryRun: ['All'] }));
      expectSuccess(await server().admin.get(maps('dry')));
    });

    it('rejects an unknown propagation policy (422)', async () => {
      await make('policy');
      expectRejection(await server().admin.delete(maps('policy'), { propagationPolicy: 'Sideways' }), 422, 'Invalid');
    });

    it('of a collection deletes the selected objects and nothing else', async () => {
      const { admin } = server();
      await make('c1', { labels: { sweep: 'yes' } });
      await make('c2', { labels: { sweep: 'yes' } });
      await make('c3', { labels: { sweep: 'no' } });
      const list = expectSuccess(await admin.delete(maps(), undefined, { query: { labelSelector: 'sweep=yes' } }));
      expect(list.kind).toBe('ConfigMapList');
      expect(namesOf(list)).toEqual(['c1', 'c2']);
      expectRejection(await admin.get(maps('c1')), 404, 'NotFound');
      expectSuccess(await admin.get(maps('c3')));
    });

    it('of a collection marks objects with finalizers', async () => {
      const { admin } = server();
      await make('f1', { labels: { held: 'yes' }, finalizers: ['example.com/a'] });
      expectSuccess(await admin.delete(maps(), undefined, { query: { labelSelector: 'held=yes' } }));
      expect(expectSuccess(await admin.get(maps('f1'))).metadata.deletionTimestamp).toBeTruthy();
      expectSuccess(await admin.merge(maps('f1'), { metadata: { finalizers: null } }));
    });

    it('allows a new object of the same name with another uid', async () => {
      const first = await make('reborn');
      expectSuccess(await server().admin.delete(maps('reborn')));
      expect((await make('reborn')).metadata.uid).not.toBe(first.metadata.uid);
    });
  });
}
