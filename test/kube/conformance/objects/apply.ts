import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';

/** Server-side apply: field ownership, and conflicts between managers. */
export function testApply(server: () => ServerUnderTest): void {
  describe('server-side apply', () => {
    let namespace: string;
    const mapPath = (name: string) => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const map = (name: string, data?: Body, more: Body = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, ...more },
      ...(data ? { data } : {}),
    });
    const managers = (object: Body) =>
      (object.metadata.managedFields ?? []).map((entry: Body) => [entry.manager, entry.operation]);
    const entryOf = (object: Body, manager: string, operation = 'Apply') =>
      object.metadata.managedFields.find((entry: Body) => entry.manager === manager && entry.operation === operation);

    beforeAll(async () => {
      namespace = await server().namespace('apply');
    });

    it('creates a missing object with 201, and returns 200 after that', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.apply(mapPath('made'), map('made', { a: '1' }), 'one'), 201);
      expect(made.metadata.uid).toBeTruthy();
      expectSuccess(await admin.apply(mapPath('made'), map('made', { a: '2' }), 'one'), 200);
    });

    it('records manager, operation, version, time and the fields in the FieldsV1 format', async () => {
      const body = expectSuccess(
        await server().admin.apply(mapPath('fields'), map('fields', { a: '1' }, { labels: { x: 'y' } }), 'one'),
        201,
      );
      expect(body.metadata.managedFields).toEqual([
        {
          manager: 'one',
          operation: 'Apply',
          apiVersion: 'v1',
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:x': {} } } },
        },
      ]);
    });

    it('requires a field manager', async () => {
      const answer = await server().admin.request('PATCH', mapPath('x'), map('x'), {
        contentType: 'application/apply-patch+yaml',
      });
      const status = expectRejection(answer, 422, 'Invalid');
      expect(causesOf(status)).toEqual(['fieldManager: Required value: is required for apply patch']);
    });

    it('requires apiVersion and kind in the body, and the name in the path', async () => {
      const { admin } = server();
      expect((await admin.apply(mapPath('x'), { metadata: { name: 'x' } }, 'one')).status).toBe(400);
      expectRejection(await admin.apply(mapPath('x'), map('other'), 'one'), 400, 'BadRequest');
      expectRejection(
        await admin.apply(mapPath('nameless'), { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } }, 'one'),
        400,
        'BadRequest',
      );
    });

    it('rejects managedFields in the body', async () => {
      const body = map('x', { a: '1' }, { managedFields: [] as Body });
      body.metadata.managedFields = [
        { manager: 'x', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} },
      ];
      const answer = await server().admin.apply(mapPath('x'), body, 'one');
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain('metadata.managedFields must be nil');
    });

    it('accepts JSON as well as YAML', async () => {
      const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: "1"\n`;
      expect(expectSuccess(await server().admin.apply(mapPath('yaml'), yaml, 'one'), 201).data).toEqual({ a: '1' });
    });

    it('removes a field that its only applier leaves out', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('drop'), map('drop', { a: '1', b: '2' }), 'one'), 201);
      const body = expectSuccess(await admin.apply(mapPath('drop'), map('drop', { a: '1' }), 'one'));
      expect(body.data).toEqual({ a: '1' });
    });

    it('keeps a field that another manager owns too', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('shared'), map('shared', { a: '1', b: '2' }), 'one'), 201);
      expectSuccess(await admin.apply(mapPath('shared'), map('shared', { b: '2' }), 'two'));
      const body = expectSuccess(await admin.apply(mapPath('shared'), map('shared', { a: '1' }), 'one'));
      expect(body.data).toEqual({ a: '1', b: '2' });
    });

    it('keeps fields written by others with PUT or PATCH', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('mixed'), map('mixed', { a: '1' }), 'one'), 201);
      expectSuccess(
        await admin.merge(mapPath('mixed'), { data: { hand: 'made' } }, { query: { fieldManager: 'hand' } }),
      );
      const body = expectSuccess(await admin.apply(mapPath('mixed'), map('mixed', { a: '2' }), 'one'));
      expect(body.data).toEqual({ a: '2', hand: 'made' });
      expect(managers(body).sort()).toEqual([
        ['hand', 'Update'],
        ['one', 'Apply'],
      ]);
    });

    it("rejects a change of another manager's value with 409, and names field and manager", async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('fought'), map('fought', { a: '1', b: '1' }), 'one'), 201);
      const status = expectRejection(
        await admin.apply(mapPath('fought'), map('fought', { a: '2' }), 'two'),
        409,
        'Conflict',
      );
      expect(status.message).toBe('Apply failed with 1 conflict: conflict with "one": .data.a');
      expect(status.details.causes).toEqual([
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' },
      ]);
      const both = expectRejection(
        await admin.apply(mapPath('fought'), map('fought', { a: '2', b: '2' }), 'two'),
        409,
        'Conflict',
      );
      expect(both.message).toBe('Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b');
      expect(expectSuccess(await admin.get(mapPath('fought'))).data).toEqual({ a: '1', b: '1' });
    });

    it("reports the other manager's operation when it was not apply", async () => {
      const { admin } = server();
      const body = map('updated', { a: '1' });
      expectSuccess(
        await admin.post(`/api/v1/namespaces/${namespace}/configmaps`, body, { query: { fieldManager: 'hand' } }),
        201,
      );
      const status = expectRejection(
        await admin.apply(mapPath('updated'), map('updated', { a: '2' }), 'one'),
        409,
        'Conflict',
      );
      expect(status.message).toMatch(/^Apply failed with 1 conflict: conflict with "hand" using v1: \.data\.a$/);
    });

    it('takes the field from the other manager with force', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('forced'), map('forced', { a: '1', b: '1' }), 'one'), 201);
      const body = expectSuccess(
        await admin.apply(mapPath('forced'), map('forced', { a: '2' }), 'two', { force: true }),
      );
      expect(body.data).toEqual({ a: '2', b: '1' });
      expect(entryOf(body, 'one').fieldsV1).toEqual({ 'f:data': { 'f:b': {} } });
      expect(entryOf(body, 'two').fieldsV1).toEqual({ 'f:data': { 'f:a': {} } });
    });

    it('reports no conflict when both apply the same value', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('agreed'), map('agreed', { a: '1' }), 'one'), 201);
      const body = expectSuccess(await admin.apply(mapPath('agreed'), map('agreed', { a: '1' }), 'two'));
      expect(managers(body).length).toBe(2);
    });

    it('removes the ownership of an applier whose value was overwritten', async () => {
      const { admin } = server();
      expectSuccess(await admin.apply(mapPath('lost'), map('lost', { a: '1' }), 'one'), 201);
      expectSuccess(await admin.merge(mapPath('lost'), { data: { a: '2' } }, { query: { fieldManager: 'hand' } }));
      const status = expectRejection(
        await admin.apply(mapPath('lost'), map('lost', { a: '1' }), 'one'),
        409,
        'Conflict',
      );
      expect(status.details.causes[0]).toMatchObject({ field: '.data.a', message: 'conflict with "hand" using v1' });
    });

    it('writes nothing when nothing changes', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.apply(mapPath('quiet'), map('quiet', { a: '1' }), 'one'), 201);
      const again = expectSuccess(await admin.apply(mapPath('quiet'), map('quiet', { a: '1' }), 'one'));
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
      expect(again.metadata.managedFields).toEqual(made.metadata.managedFields);
    });

    it('rejects an old resourceVersion with 409', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.apply(mapPath('old'), map('old', { a: '1' }), 'one'), 201);
      expectSuccess(await admin.apply(mapPath('old'), map('old', { a: '2' }), 'one'));
      const stale = map('old', { a: '3' }, { resourceVersion: made.metadata.resourceVersion });
      expectRejection(await admin.apply(mapPath('old'), stale, 'one'), 409, 'Conflict');
    });

    it('rejects the uid of another object of the same name', async () => {
      const { admin } = server();
      const body = map('reborn', {}, { uid: '00000000-0000-0000-0000-000000000000' });
      const status = expectRejection(await admin.apply(mapPath('reborn'), body, 'one'), 409, 'Conflict');
      expect(status.message).toContain('uid mismatch');
    });

    it('stores nothing under dryRun=All', async () => {
      const { admin } = server();
      expectSuccess(
        await admin.apply(mapPath('dry'), map('dry', { a: '1' }), 'one', { query: { dryRun: 'All' } }),
        201,
      );
      expectRejection(await admin.get(mapPath('dry')), 404, 'NotFound');
    });

    it('tracks finalizers and owner references by their own keys', async () => {
      const { admin } = server();
      const first = map('sets', {}, { finalizers: ['example.com/one'] });
      expectSuccess(await admin.apply(mapPath('sets'), first, 'one'), 201);
      const second = map('sets', undefined, { finalizers: ['example.com/two'] });
      const body = expectSuccess(await admin.apply(mapPath('sets'), second, 'two'));
      expect([...body.metadata.finalizers].sort()).toEqual(['example.com/one', 'example.com/two']);
      expect(entryOf(body, 'two').fieldsV1).toEqual({
        'f:metadata': { 'f:finalizers': { 'v:"example.com/two"': {} } },
      });
      const without = expectSuccess(await admin.apply(mapPath('sets'), map('sets'), 'one'));
      expect(without.metadata.finalizers).toEqual(['example.com/two']);
      expectSuccess(await admin.apply(mapPath('sets'), map('sets'), 'two'));
    });

    describe('and plain writes', () => {
      it('record the first part of the user agent as manager by default', async () => {
        const body = expectSuccess(
          await server().admin.post(`/api/v1/namespaces/${namespace}/configmaps`, map('agent', { a: '1' }), {
            headers: { 'user-agent': 'my-tool/1.2 (x)' },
          }),
          201,
        );
        expect(managers(body)).toEqual([['my-tool', 'Update']]);
      });

      it('reject a manager name over 128 characters or with unprintable characters', async () => {
        const query = { fieldManager: 'x'.repeat(129) };
        const answer = await server().admin.merge(mapPath('agent'), { data: { b: '1' } }, { query });
        const status = expectRejection(answer, 422, 'Invalid');
        expect(status.details.causes[0].field).toBe('fieldManager');
      });

      it('empty managedFields on a list with one empty entry', async () => {
        const { admin } = server();
        expectSuccess(await admin.apply(mapPath('reset'), map('reset', { a: '1' }), 'one'), 201);
        const body = expectSuccess(await admin.merge(mapPath('reset'), { metadata: { managedFields: [{}] } }));
        expect(body.metadata).not.toHaveProperty('managedFields');
      });
    });
  });
}
