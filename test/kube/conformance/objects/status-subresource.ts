import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { describeSuiteCrd, ensureWidgetKind, installCrd, type WidgetKind } from '../../support/widgets.ts';

/** The status sub-resource: spec and status are written through separate paths. */
export function testStatusSubresource(server: () => ServerUnderTest): void {
  describe('the status sub-resource', () => {
    let namespace: string;
    let widget: WidgetKind;
    const path = (name?: string, subresource?: string) => widget.path(namespace, name, subresource);

    beforeAll(async () => {
      namespace = await server().namespace('status');
      widget = await ensureWidgetKind(server());
    });

    it('is ignored on creation and replacement through the main resource', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.post(path(), widget.make('front', {}, { status: { phase: 'x' } })), 201);
      expect(made).not.toHaveProperty('status');
      const put = expectSuccess(await admin.put(path('front'), { ...made, spec: { size: 2 }, status: { phase: 'x' } }));
      expect(put).not.toHaveProperty('status');
      expect(put.metadata.generation).toBe(2);
    });

    it('changes the status and leaves spec, labels, annotations, finalizers and generation unchanged', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.post(path(), widget.make('back')), 201);
      const body = {
        ...made,
        metadata: { ...made.metadata, labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['example.com/x'] },
        spec: { size: 9 },
        status: { phase: 'Ready' },
      };
      const put = expectSuccess(await admin.put(path('back', 'status'), body));
      expect(put.status).toEqual({ phase: 'Ready' });
      expect(put.spec.size).toBe(1);
      expect(put.metadata.generation).toBe(1);
      expect(put.metadata).not.toHaveProperty('labels');
      expect(put.metadata).not.toHaveProperty('annotations');
      expect(put.metadata).not.toHaveProperty('finalizers');
      expect(put.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
    });

    it('is kept by a write to the main resource', async () => {
      const { admin } = server();
      expectSuccess(await admin.post(path(), widget.make('both')), 201);
      expectSuccess(await admin.merge(path('both', 'status'), { status: { phase: 'Ready' } }));
      const body = expectSuccess(await admin.merge(path('both'), { spec: { size: 4 }, status: { phase: 'Gone' } }));
      expect(body.status).toEqual({ phase: 'Ready' });
    });

    it('can be read and returns the whole object', async () => {
      const { admin } = server();
      expectSuccess(await admin.post(path(), widget.make('read')), 201);
      expect(expectSuccess(await admin.get(path('read', 'status'))).spec.size).toBe(1);
    });

    it('rejects an old resourceVersion with 409', async () => {
      const { admin } = server();
      const made = expectSuccess(await admin.post(path(), widget.make('raced')), 201);
      expectSuccess(await admin.merge(path('raced', 'status'), { status: { phase: 'a' } }));
      expectRejection(await admin.put(path('raced', 'status'), { ...made, status: { phase: 'b' } }), 409, 'Conflict');
      const patch = { metadata: { resourceVersion: made.metadata.resourceVersion }, status: { phase: 'b' } };
      expectRejection(await admin.merge(path('raced', 'status'), patch), 409, 'Conflict');
    });

    it('is validated by the schema like the rest', async () => {
      const { admin } = server();
      expectSuccess(await admin.post(path(), widget.make('checked')), 201);
      const status = expectRejection(
        await admin.merge(path('checked', 'status'), { status: { seen: 'no number' } }),
        422,
        'Invalid',
      );
      expect(causesOf(status)).toEqual([
        'status.seen: Invalid value: "string": seen in body must be of type integer: "string"',
      ]);
    });

    it('prunes unknown fields', async () => {
      const { admin } = server();
      expectSuccess(await admin.post(path(), widget.make('pruned')), 201);
      const body = expectSuccess(await admin.merge(path('pruned', 'status'), { status: { phase: 'a', odd: 1 } }));
      expect(body.status).toEqual({ phase: 'a' });
    });

    it('supports no POST, and a kind has no undeclared sub-resources', async () => {
      const { admin } = server();
      expectSuccess(await admin.post(path(), widget.make('doors')), 201);
      expectRejection(await admin.post(path('doors', 'status'), {}), 405, 'MethodNotAllowed');
      expect((await admin.get(path('doors', 'scale'))).status).toBe(404);
      expect((await admin.get(path('doors', 'nonsense'))).status).toBe(404);
    });

    it('is an ordinary field of a kind that does not declare it, and increments its generation', async () => {
      const { admin } = server();
      const schema = {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: { type: 'object', properties: { phase: { type: 'string' } } },
        },
      };
      const all = await installCrd(
        server(),
        describeSuiteCrd(server(), { kind: 'Plain', plural: 'plains' }, schema, { scope: 'Cluster' }),
      );
      const object = {
        apiVersion: `${server().group}/v1`,
        kind: 'Plain',
        metadata: { name: 'one' },
        status: { phase: 'a' },
      };
      const made = expectSuccess(await admin.post(all, object), 201);
      expect(made.status).toEqual({ phase: 'a' });
      const patched = expectSuccess(await admin.merge(`${all}/one`, { status: { phase: 'b' } }));
      expect(patched.status).toEqual({ phase: 'b' });
      expect(patched.metadata.generation).toBe(2);
      expect((await admin.get(`${all}/one/status`)).status).toBe(404);
    });

    it('of a namespace and of a node behaves the same way', async () => {
      const { admin } = server();
      const name = server().unique('node');
      expectSuccess(await admin.post('/api/v1/nodes', { metadata: { name } }), 201);
      server().deleteLater(`/api/v1/nodes/${name}`);
      const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }];
      const body = expectSuccess(await admin.strategic(`/api/v1/nodes/${name}/status`, { status: { conditions } }));
      expect(body.status.conditions.find((one: { type: string }) => one.type === 'Ready')).toMatchObject(
        conditions[0] ?? {},
      );
    });
  });
}
