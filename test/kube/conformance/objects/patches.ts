import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** JSON patch, merge patch and strategic merge patch. Apply has its own tests. */
export function testPatches(server: () => ServerUnderTest): void {
  describe('patches', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const make = async (name: string, more: object = {}) =>
      expectSuccess(await server().admin.post(maps(), { metadata: { name }, ...more }), 201);

    beforeAll(async () => {
      namespace = await server().namespace('patches');
      widget = await ensureWidgetKind(server());
    });

    describe('merge patch', () => {
      it('sets given fields, keeps absent ones, removes null ones', async () => {
        await make('merge', { data: { a: '1', b: '2', c: '3' } });
        const body = expectSuccess(await server().admin.merge(maps('merge'), { data: { b: 'two', c: null, d: '4' } }));
        expect(body.data).toEqual({ a: '1', b: 'two', d: '4' });
      });

      it('replaces lists as a whole', async () => {
        const path = widget.path(namespace, 'lists');
        const parts = [{ name: 'a' }, { name: 'b' }];
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make('lists', { parts })), 201);
        const body = expectSuccess(await server().admin.merge(path, { spec: { parts: [{ name: 'c' }] } }));
        expect(body.spec.parts).toEqual([{ name: 'c', count: 1 }]);
      });

      it('with an old resourceVersion is rejected (409)', async () => {
        const made = await make('locked', { data: { a: '1' } });
        expectSuccess(await server().admin.merge(maps('locked'), { data: { a: '2' } }));
        const patch = { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { a: '3' } };
        const status = expectRejection(await server().admin.merge(maps('locked'), patch), 409, 'Conflict');
        expect(status.details).toEqual({ name: 'locked', kind: 'configmaps' });
      });

      it('with a null resourceVersion or none succeeds after any change', async () => {
        await make('open');
        expectSuccess(
          await server().admin.merge(maps('open'), { metadata: { resourceVersion: null }, data: { a: '1' } }),
        );
      });

      it('that changes nothing writes nothing', async () => {
        const made = await make('same', { data: { a: '1' } });
        const body = expectSuccess(await server().admin.merge(maps('same'), { data: { a: '1' } }));
        expect(body.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
      });

      it('cannot change the name, namespace or uid of an object', async () => {
        await make('identity');
        const uid = '00000000-0000-0000-0000-000000000000';
        expectRejection(
          await server().admin.merge(maps('identity'), { metadata: { name: 'other' } }),
          400,
          'BadRequest',
        );
        expectRejection(
          await server().admin.merge(maps('identity'), { metadata: { namespace: 'other' } }),
          400,
          'BadRequest',
        );
        const status = expectRejection(
          await server().admin.merge(maps('identity'), { metadata: { uid } }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toContain(`metadata.uid: Invalid value: "${uid}": field is immutable`);
      });

      it('of a missing object ends in 404', async () => {
        const status = expectRejection(
          await server().admin.merge(maps('nothing'), { data: { a: '1' } }),
          404,
          'NotFound',
        );
        expect(status.message).toBe('configmaps "nothing" not found');
      });

      it('that is no object ends in 400', async () => {
        expectRejection(await server().admin.merge(maps('merge'), '[1]'), 400, 'BadRequest');
        expectRejection(await server().admin.merge(maps('merge'), '{'), 400, 'BadRequest');
      });

      it('with an invalid result ends in 422 with the field', async () => {
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make('invalid')), 201);
        const status = expectRejection(
          await server().admin.merge(widget.path(namespace, 'invalid'), { spec: { size: 11 } }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual([
          'spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10',
        ]);
      });

      it('with null for a defaulted field restores the default', async () => {
        expectSuccess(
          await server().admin.post(widget.path(namespace), widget.make('defaulted', { color: 'blue' })),
          201,
        );
        const body = expectSuccess(
          await server().admin.merge(widget.path(namespace, 'defaulted'), { spec: { color: null } }),
        );
        expect(body.spec.color).toBe('red');
      });
    });

    describe('JSON patch', () => {
      it('applies its operations in order', async () => {
        await make('json', { data: { a: '1', b: '2' } });
        const body = expectSuccess(
          await server().admin.jsonPatch(maps('json'), [
            { op: 'test', path: '/data/a', value: '1' },
            { op: 'add', path: '/data/c', value: '3' },
            { op: 'replace', path: '/data/a', value: 'one' },
            { op: 'copy', from: '/data/c', path: '/data/d' },
            { op: 'move', from: '/data/d', path: '/data/e' },
            { op: 'remove', path: '/data/b' },
          ]),
        );
        expect(body.data).toEqual({ a: 'one', c: '3', e: '3' });
      });

      it('reads ~1 as a slash and - as the end of a list', async () => {
        expectSuccess(
          await server().admin.post(widget.path(namespace), widget.make('pointers', { words: ['a'] })),
          201,
        );
        const body = expectSuccess(
          await server().admin.jsonPatch(widget.path(namespace, 'pointers'), [
            { op: 'add', path: '/metadata/annotations', value: {} },
            { op: 'add', path: '/metadata/annotations/example.com~1x', value: 'y' },
            { op: 'add', path: '/spec/words/-', value: 'c' },
            { op: 'add', path: '/spec/words/1', value: 'b' },
          ]),
        );
        expect(body.metadata.annotations).toEqual({ 'example.com/x': 'y' });
        expect(body.spec.words).toEqual(['a', 'b', 'c']);
      });

      it('changes nothing when one test fails (422)', async () => {
        await make('tested', { data: { a: '1' } });
        const status = expectRejection(
          await server().admin.jsonPatch(maps('tested'), [
            { op: 'replace', path: '/data/a', value: '2' },
            { op: 'test', path: '/data/a', value: '1' },
          ]),
          422,
          'Invalid',
        );
        expect(status.message).toBe('the server rejected our request due to an error in our request');
        expect(expectSuccess(await server().admin.get(maps('tested'))).data).toEqual({ a: '1' });
      });

      it('rejects the removal of a missing value (422), but accepts its replacement', async () => {
        await make('missing', { data: { a: '1' } });
        expectRejection(
          await server().admin.jsonPatch(maps('missing'), [{ op: 'remove', path: '/data/z' }]),
          422,
          'Invalid',
        );
        const patch = [{ op: 'replace', path: '/data/z', value: '26' }];
        expect(expectSuccess(await server().admin.jsonPatch(maps('missing'), patch)).data).toEqual({ a: '1', z: '26' });
      });

      it('that is no list of operations ends in 400', async () => {
        expectRejection(
          await server().admin.jsonPatch(maps('json'), { op: 'remove', path: '/data/a' }),
          400,
          'BadRequest',
        );
      });
    });

    describe('strategic merge patch', () => {
      const account = (name?: string) => `/api/v1/namespaces/${namespace}/serviceaccounts${name ? `/${name}` : ''}`;

      it('merges maps like a merge patch', async () => {
        await make('strategic', { data: { a: '1', b: '2' } });
        const body = expectSuccess(await server().admin.strategic(maps('strategic'), { data: { a: null, c: '3' } }));
        expect(body.data).toEqual({ b: '2', c: '3' });
      });

      it('merges lists of a built-in kind by their key, and $patch: delete removes an element', async () => {
        const name = 'accounts';
        expectSuccess(
          await server().admin.post(account(), { metadata: { name }, secrets: [{ name: 'a' }, { name: 'b' }] }),
          201,
        );
        const added = expectSuccess(await server().admin.strategic(account(name), { secrets: [{ name: 'c' }] }));
        expect(added.secrets.map((secret: { name: string }) => secret.name).sort()).toEqual(['a', 'b', 'c']);
        const removed = expectSuccess(
          await server().admin.strategic(account(name), { secrets: [{ name: 'b', $patch: 'delete' }] }),
        );
        expect(removed.secrets.map((secret: { name: string }) => secret.name).sort()).toEqual(['a', 'c']);
      });

      it('adds finalizers to the existing ones', async () => {
        const name = 'finalizers';
        await make(name, { metadata: { name, finalizers: ['example.com/a'] } });
        const body = expectSuccess(
          await server().admin.strategic(maps(name), { metadata: { finalizers: ['example.com/b'] } }),
        );
        expect([...body.metadata.finalizers].sort()).toEqual(['example.com/a', 'example.com/b']);
        expectSuccess(await server().admin.merge(maps(name), { metadata: { finalizers: null } }));
      });

      it('is not supported by custom kinds: 415 with the supported types', async () => {
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make('custom')), 201);
        const status = expectRejection(
          await server().admin.strategic(widget.path(namespace, 'custom'), { spec: { size: 2 } }),
          415,
          'UnsupportedMediaType',
        );
        expect(status.message).toContain(
          'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
        );
      });
    });

    it('return 415 for a content type that is no patch', async () => {
      const status = expectRejection(
        await server().admin.request('PATCH', maps('merge'), { data: {} }, { contentType: 'application/json' }),
        415,
        'UnsupportedMediaType',
      );
      expect(status.message).toBe('415: Unsupported Media Type');
    });

    it('reject unknown fields under fieldValidation=Strict', async () => {
      expectSuccess(await server().admin.post(widget.path(namespace), widget.make('strict')), 201);
      const query = { fieldValidation: 'Strict' };
      const answer = await server().admin.merge(widget.path(namespace, 'strict'), { spec: { sizes: 2 } }, { query });
      expect(answer.body.message).toContain('unknown field "spec.sizes"');
      expect(answer.status).toBe(422);
    });

    it('store nothing under dryRun=All but return the result', async () => {
      await make('dry', { data: { a: '1' } });
      const body = expectSuccess(
        await server().admin.merge(maps('dry'), { data: { a: '2' } }, { query: { dryRun: 'All' } }),
      );
      expect(body.data).toEqual({ a: '2' });
      expect(expectSuccess(await server().admin.get(maps('dry'))).data).toEqual({ a: '1' });
    });
  });
}
