import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Server-side apply where the schema decides between atomic and granular fields. */
export function testApplyListTypes(server: () => ServerUnderTest): void {
  describe('server-side apply', () => {
    let namespace: string;
    let widget: WidgetKind;
    const mapPath = (name: string) => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const entryOf = (object: Body, manager: string, operation = 'Apply') =>
      object.metadata.managedFields.find((entry: Body) => entry.manager === manager && entry.operation === operation);

    beforeAll(async () => {
      namespace = await server().namespace('apply');
      widget = await ensureWidgetKind(server());
    });

    describe('of custom kinds', () => {
      const make = (name: string, spec: Body, more: Body = {}) => ({ ...widget.make(name, spec), ...more });

      it('merges a list of type map by its keys: each manager has its own elements', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'parts');
        expectSuccess(
          await admin.apply(path, make('parts', { size: 1, parts: [{ name: 'a', count: 2 }] }), 'one'),
          201,
        );
        const intent = {
          apiVersion: widget.apiVersion,
          kind: widget.kind,
          spec: { parts: [{ name: 'b', note: 'x' }] },
        };
        const body = expectSuccess(await admin.apply(path, intent, 'two'));
        expect(body.spec.parts).toEqual([
          { name: 'a', count: 2 },
          { name: 'b', count: 1, note: 'x' },
        ]);
        expect(entryOf(body, 'two').fieldsV1).toEqual({
          'f:spec': { 'f:parts': { 'k:{"name":"b"}': { '.': {}, 'f:name': {}, 'f:note': {} } } },
        });
        const gone = expectSuccess(await admin.apply(path, make('parts', { size: 1 }), 'one'));
        expect(gone.spec.parts).toEqual([{ name: 'b', count: 1, note: 'x' }]);
      });

      it('reports conflicts inside an element of such a list with the key', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'elements');
        expectSuccess(await admin.apply(path, make('elements', { parts: [{ name: 'a', note: 'x' }] }), 'one'), 201);
        const intent = {
          apiVersion: widget.apiVersion,
          kind: widget.kind,
          spec: { parts: [{ name: 'a', note: 'y' }] },
        };
        const status = expectRejection(await admin.apply(path, intent, 'two'), 409, 'Conflict');
        expect(status.details.causes).toEqual([
          { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.parts[name="a"].note' },
        ]);
      });

      it('merges a list of type set by value', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'tags');
        expectSuccess(await admin.apply(path, make('tags', { tags: ['a', 'b'] }), 'one'), 201);
        const intent = { apiVersion: widget.apiVersion, kind: widget.kind, spec: { tags: ['b', 'c'] } };
        const body = expectSuccess(await admin.apply(path, intent, 'two'));
        expect([...body.spec.tags].sort()).toEqual(['a', 'b', 'c']);
        const less = expectSuccess(await admin.apply(path, make('tags', {}), 'one'));
        expect([...less.spec.tags].sort()).toEqual(['b', 'c']);
      });

      it('treats a list without a type and an atomic map as one value', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'atoms');
        expectSuccess(await admin.apply(path, make('atoms', { words: ['a'], atom: { a: '1' } }), 'one'), 201);
        const intent = (spec: Body) => ({ apiVersion: widget.apiVersion, kind: widget.kind, spec });
        const words = expectRejection(await admin.apply(path, intent({ words: ['a', 'b'] }), 'two'), 409, 'Conflict');
        expect(words.details.causes[0].field).toBe('.spec.words');
        const atom = expectRejection(await admin.apply(path, intent({ atom: { b: '2' } }), 'two'), 409, 'Conflict');
        expect(atom.details.causes[0].field).toBe('.spec.atom');
        const forced = expectSuccess(await admin.apply(path, intent({ atom: { b: '2' } }), 'two', { force: true }));
        expect(forced.spec.atom).toEqual({ b: '2' });
      });

      it('on the status sub-resource changes the status only and is tracked separately', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'stated');
        expectSuccess(await admin.apply(path, make('stated', { size: 3 }), 'one'), 201);
        const status = { phase: 'Ready', conditions: [{ type: 'A', status: 'True' }] };
        const intent = { apiVersion: widget.apiVersion, kind: widget.kind, spec: { size: 9 }, status };
        const body = expectSuccess(await admin.apply(widget.path(namespace, 'stated', 'status'), intent, 'one'));
        expect(body.spec.size).toBe(3);
        expect(body.status).toEqual(status);
        expect(body.metadata.generation).toBe(1);
        const entry = body.metadata.managedFields.find((candidate: Body) => candidate.subresource === 'status');
        expect(entry).toMatchObject({ manager: 'one', operation: 'Apply', subresource: 'status' });
        expect(entry.fieldsV1['f:status']).toBeTruthy();
        const second = { ...intent, status: { conditions: [{ type: 'B', status: 'False' }] } };
        const both = expectSuccess(await admin.apply(widget.path(namespace, 'stated', 'status'), second, 'two'));
        expect(both.status.conditions.map((condition: Body) => condition.type)).toEqual(['A', 'B']);
      });

      it('on the status of a missing object ends in 404', async () => {
        const intent = { apiVersion: widget.apiVersion, kind: widget.kind, status: { phase: 'x' } };
        expectRejection(
          await server().admin.apply(widget.path(namespace, 'unborn', 'status'), intent, 'one'),
          404,
          'NotFound',
        );
      });

      it('on the main resource ignores the status', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'stateless');
        const body = expectSuccess(
          await admin.apply(path, make('stateless', {}, { status: { phase: 'Ready' } }), 'one'),
          201,
        );
        expect(body).not.toHaveProperty('status');
      });

      it('does not make an applier the owner of a default', async () => {
        const { admin } = server();
        const body = expectSuccess(
          await admin.apply(widget.path(namespace, 'defaults'), make('defaults', { size: 2 }), 'one'),
          201,
        );
        expect(body.spec.color).toBe('red');
        expect(entryOf(body, 'one').fieldsV1).toEqual({ 'f:spec': { 'f:size': {} } });
      });

      it('rejects a field that the schema does not have', async () => {
        const answer = await server().admin.apply(widget.path(namespace, 'odd'), make('odd', { sizes: 2 }), 'one');
        expect(answer.status).toBe(500);
        expect(answer.body.message).toContain('.spec.sizes: field not declared in schema');
      });

      it('rejects duplicate keys in a list of type map', async () => {
        const parts = [{ name: 'a' }, { name: 'a' }];
        const answer = await server().admin.apply(widget.path(namespace, 'odd'), make('odd', { parts }), 'one');
        expect(answer.status).toBe(500);
        expect(answer.body.message).toContain('duplicate entries for key [name="a"]');
      });

      it('increments the generation when the spec changes', async () => {
        const { admin } = server();
        const path = widget.path(namespace, 'generation');
        expectSuccess(await admin.apply(path, make('generation', { size: 1 }), 'one'), 201);
        expect(expectSuccess(await admin.apply(path, make('generation', { size: 1 }), 'one')).metadata.generation).toBe(
          1,
        );
        expect(expectSuccess(await admin.apply(path, make('generation', { size: 2 }), 'one')).metadata.generation).toBe(
          2,
        );
      });
    });

    describe('of built-in kinds', () => {
      const rbac = () => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
      const causes = (status: Body) => status.details.causes.map((cause: Body) => cause.field);

      it('tracks the keys of a secret one by one, and removes a key that its manager leaves out', async () => {
        const { admin } = server();
        const path = `/api/v1/namespaces/${namespace}/secrets/keys`;
        const secret = (data: Body) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, data });
        expectSuccess(await admin.apply(path, secret({ a: 'YQ==', b: 'Yg==' }), 'one'), 201);
        expectSuccess(await admin.apply(path, secret({ c: 'Yw==' }), 'two'));
        expect(expectSuccess(await admin.apply(path, secret({ a: 'YQ==' }), 'one')).data).toEqual({
          a: 'YQ==',
          c: 'Yw==',
        });
      });

      it('treats the rules of a role as one value', async () => {
        const { admin } = server();
        const role = (...resources: string[]) => ({
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name: 'rules' },
          rules: resources.map((resource) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] })),
        });
        expectSuccess(await admin.apply(`${rbac()}/roles/rules`, role('pods'), 'one'), 201);
        const status = expectRejection(
          await admin.apply(`${rbac()}/roles/rules`, role('secrets'), 'two'),
          409,
          'Conflict',
        );
        expect(causes(status)).toEqual(['.rules']);
        const forced = expectSuccess(
          await admin.apply(`${rbac()}/roles/rules`, role('secrets', 'pods'), 'two', { force: true }),
        );
        expect(forced.rules.length).toBe(2);
      });

      it('treats the subjects of a binding as one value', async () => {
        const { admin } = server();
        const apiGroup = 'rbac.authorization.k8s.io';
        const binding = (name: string) => ({
          apiVersion: `${apiGroup}/v1`,
          kind: 'RoleBinding',
          metadata: { name: 'subjects' },
          roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
          subjects: [{ apiGroup, kind: 'User', name }],
        });
        const path = `${rbac()}/rolebindings/subjects`;
        expectSuccess(await admin.apply(path, binding('a'), 'one'), 201);
        expect(causes(expectRejection(await admin.apply(path, binding('b'), 'two'), 409, 'Conflict'))).toEqual([
          '.subjects',
        ]);
      });

      it('merges the lists of a ServiceAccount by name', async () => {
        const { admin } = server();
        const path = `/api/v1/namespaces/${namespace}/serviceaccounts/lists`;
        const account = (name: string) => ({
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'lists' },
          secrets: [{ name }],
        });
        expectSuccess(await admin.apply(path, account('a'), 'one'), 201);
        const body = expectSuccess(await admin.apply(path, account('b'), 'two'));
        expect(body.secrets).toEqual([{ name: 'a' }, { name: 'b' }]);
      });

      it('allows labels and annotations of a namespace by different managers', async () => {
        const { admin } = server();
        const name = await server().namespace('labelled');
        const intent = (metadata: Body) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } });
        expectSuccess(await admin.apply(`/api/v1/namespaces/${name}`, intent({ labels: { a: 'b' } }), 'one'));
        expectSuccess(await admin.apply(`/api/v1/namespaces/${name}`, intent({ annotations: { c: 'd' } }), 'two'));
        const body = expectSuccess(await admin.apply(`/api/v1/namespaces/${name}`, intent({}), 'one'));
        expect(body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': name });
        expect(body.metadata.annotations).toEqual({ c: 'd' });
      });

      it('rejects a field that the kind does not have', async () => {
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'odd' }, datas: {} };
        const answer = await server().admin.apply(mapPath('odd'), body, 'one');
        expect(answer.status).toBe(500);
        expect(answer.body.message).toContain('.datas: field not declared in schema');
      });
    });
  });
}
