import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess, namesOf } from '../../support/expectations.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Read, replace and concurrent writes: the behaviour that all kinds share. */
export function testReadAndReplace(server: () => ServerUnderTest): void {
  describe('objects', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;

    beforeAll(async () => {
      namespace = await server().namespace('objects');
      widget = await ensureWidgetKind(server());
    });

    describe('reading', () => {
      it('returns 404 NotFound with kind and name for a missing object', async () => {
        const status = expectRejection(await server().admin.get(maps('nothing')), 404, 'NotFound');
        expect(status.message).toBe('configmaps "nothing" not found');
        expect(status.details).toEqual({ name: 'nothing', kind: 'configmaps' });
        const custom = expectRejection(await server().admin.get(widget.path(namespace, 'nothing')), 404, 'NotFound');
        expect(custom.message).toBe(`widgets.${server().group} "nothing" not found`);
      });

      it('returns an empty list for a missing namespace', async () => {
        const list = expectSuccess(await server().admin.get(`/api/v1/namespaces/${server().unique('no')}/configmaps`));
        expect(list).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1', items: [] });
      });

      it('returns 404 for an unknown kind and group, without naming an object', async () => {
        const kind = expectRejection(await server().admin.get('/api/v1/gadgets'), 404, 'NotFound');
        expect(kind.message).toBe('the server could not find the requested resource');
        expect(kind.details).toEqual({});
        // The router answers for an unknown group in plain text, because no API group handles it.
        const group = await server().admin.get('/apis/nobody.example.com/v1/things');
        expect(group.status).toBe(404);
        expect(group.text).toBe('404 page not found\n');
      });

      it('returns 405 for a method that the kind does not support', async () => {
        const status = expectRejection(await server().admin.post(maps('made'), {}), 405, 'MethodNotAllowed');
        expect(status.message).toBe('the server does not allow this method on the requested resource');
      });

      it('lists in the order of names, without kind and apiVersion on the items of a built-in kind', async () => {
        const list = expectSuccess(await server().admin.get(maps()));
        expect(namesOf(list)).toEqual([...namesOf(list)].sort());
        expect(list.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(list.items[0]).not.toHaveProperty('kind');
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make('listed')), 201);
        const custom = expectSuccess(await server().admin.get(widget.path(namespace)));
        expect(custom.kind).toBe('WidgetList');
        expect(custom.items[0]).toMatchObject({ kind: 'Widget', apiVersion: widget.apiVersion });
      });
    });

    it('returns the fields of a custom kind sorted, in whatever order they were sent', async () => {
      const made = widget.make('ordered');
      const spec = Object.fromEntries(
        Object.entries(made['spec'] as object)
          .sort()
          .reverse(),
      );
      const { text } = await server().admin.post(widget.path(namespace), { ...made, spec });
      const read = JSON.parse(text) as { spec: object };
      expect(Object.keys(read.spec).length).toBeGreaterThan(1);
      expect(Object.keys(read.spec)).toEqual(Object.keys(read.spec).sort());
      expect(Object.keys(read)).toEqual(Object.keys(read).sort());
    });

    describe('replacing', () => {
      it('rejects an old resourceVersion with 409 Conflict, and keeps the object', async () => {
        const made = expectSuccess(
          await server().admin.post(maps(), { metadata: { name: 'raced' }, data: { a: '1' } }),
          201,
        );
        const second = expectSuccess(await server().admin.put(maps('raced'), { ...made, data: { a: '2' } }));
        expect(second.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
        const status = expectRejection(
          await server().admin.put(maps('raced'), { ...made, data: { a: '3' } }),
          409,
          'Conflict',
        );
        expect(status.message).toBe(
          'Operation cannot be fulfilled on configmaps "raced": the object has been modified; please apply your changes to the latest version and try again',
        );
        expect(status.details).toEqual({ name: 'raced', kind: 'configmaps' });
        expect(expectSuccess(await server().admin.get(maps('raced'))).data).toEqual({ a: '2' });
      });

      it('rejects the uid of another object of the same name with 409', async () => {
        expectSuccess(await server().admin.post(maps(), { metadata: { name: 'reborn' } }), 201);
        const status = expectRejection(
          await server().admin.put(maps('reborn'), {
            metadata: { name: 'reborn', uid: '00000000-0000-0000-0000-000000000000' },
          }),
          409,
          'Conflict',
        );
        expect(status.message).toMatch(
          /^Operation cannot be fulfilled on configmaps "reborn": (StorageError: invalid object|Precondition failed)/,
        );
      });

      it('requires a resourceVersion for a custom kind, but not for a built-in kind', async () => {
        expectSuccess(await server().admin.post(maps(), { metadata: { name: 'blind' } }), 201);
        expectSuccess(await server().admin.put(maps('blind'), { metadata: { name: 'blind' }, data: { b: '2' } }));
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make('blind')), 201);
        const status = expectRejection(
          await server().admin.put(widget.path(namespace, 'blind'), widget.make('blind')),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual([
          'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
        ]);
      });

      it('writes nothing when nothing changes: the resourceVersion stays', async () => {
        const made = expectSuccess(
          await server().admin.post(maps(), { metadata: { name: 'still' }, data: { a: '1' } }),
          201,
        );
        const again = expectSuccess(await server().admin.put(maps('still'), made));
        expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
        expect(again.metadata.managedFields).toEqual(made.metadata.managedFields);
      });

      it('keeps uid and creationTimestamp when the body leaves them out', async () => {
        const made = expectSuccess(await server().admin.post(maps(), { metadata: { name: 'kept' } }), 201);
        const after = expectSuccess(
          await server().admin.put(maps('kept'), { metadata: { name: 'kept', labels: { a: 'b' } } }),
        );
        expect(after.metadata.uid).toBe(made.metadata.uid);
        expect(after.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
      });

      it('rejects a body whose name differs from the path (400)', async () => {
        expectSuccess(await server().admin.post(maps(), { metadata: { name: 'named' } }), 201);
        const status = expectRejection(
          await server().admin.put(maps('named'), { metadata: { name: 'other' } }),
          400,
          'BadRequest',
        );
        expect(status.message).toBe('the name of the object (other) does not match the name on the URL (named)');
      });

      it('returns 404 for a missing object: a PUT creates no custom object', async () => {
        const body = widget.make('absent', {}, { metadata: { name: 'absent', resourceVersion: '1' } });
        expectRejection(await server().admin.put(widget.path(namespace, 'absent'), body), 404, 'NotFound');
      });

      it('increments the generation of a custom kind with its spec only', async () => {
        const path = widget.path(namespace, 'generations');
        const made = expectSuccess(await server().admin.post(widget.path(namespace), widget.make('generations')), 201);
        expect(made.metadata.generation).toBe(1);
        const labelled = expectSuccess(
          await server().admin.merge(path, { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } }),
        );
        expect(labelled.metadata.generation).toBe(1);
        const changed = expectSuccess(await server().admin.merge(path, { spec: { size: 2 } }));
        expect(changed.metadata.generation).toBe(2);
        const same = expectSuccess(await server().admin.merge(path, { spec: { size: 2 } }));
        expect(same.metadata.generation).toBe(2);
      });
    });

    describe('concurrent writes', () => {
      it('have one winner when all create the same name', async () => {
        const create = () => server().admin.post(maps(), { metadata: { name: 'rush' } });
        const answers = await Promise.all(Array.from({ length: 8 }, create));
        expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
      });

      it('have one winner when all replace the same version', async () => {
        const made = expectSuccess(await server().admin.post(widget.path(namespace), widget.make('rush')), 201);
        const replace = (_: unknown, size: number) =>
          server().admin.put(widget.path(namespace, 'rush'), { ...made, spec: { size: size + 2 } });
        const answers = await Promise.all(Array.from({ length: 8 }, replace));
        expect(answers.filter(({ status }) => status === 200).length).toBe(1);
        expect(answers.filter(({ status }) => status === 409).length).toBe(7);
      });

      it('lose nothing when each merges a different field without a version', async () => {
        expectSuccess(await server().admin.post(maps(), { metadata: { name: 'merged' } }), 201);
        const merge = (_: unknown, index: number) =>
          server().admin.merge(maps('merged'), { data: { [`k${index}`]: 'x' } });
        for (const answer of await Promise.all(Array.from({ length: 8 }, merge))) expectSuccess(answer);
        expect(Object.keys(expectSuccess(await server().admin.get(maps('merged'))).data).length).toBe(8);
      });
    });
  });
}
