import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { RawKubeClient } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { createUserWithRights, rbacPath, roleRef } from '../../support/users.ts';
import { ensureWidgetKind, randomName, type WidgetKind } from '../../support/widgets.ts';

/** RBAC decisions, the messages of rejections, and the prevention of privilege escalation. */
export function testRbacDecisions(server: () => ServerUnderTest): void {
  describe('RBAC', () => {
    let namespace: string;
    let other: string;
    let widget: WidgetKind;

    beforeAll(async () => {
      namespace = await server().namespace('access');
      other = await server().namespace('other');
      widget = await ensureWidgetKind(server());
    });

    const inside = (plural: string, name?: string, where = namespace) =>
      `/api/v1/namespaces/${where}/${plural}${name ? `/${name}` : ''}`;
    const roles = (kind: 'roles' | 'rolebindings', name?: string) =>
      `${rbacPath}/namespaces/${namespace}/${kind}${name ? `/${name}` : ''}`;

    describe('rejections', () => {
      const foreign = () => server().impersonating('stranger');

      it('contain user, verb, resource, group and namespace in one sentence', async () => {
        const status = expectRejection(await foreign().get(inside('secrets')), 403, 'Forbidden');
        expect(status.message).toBe(
          `secrets is forbidden: User "stranger" cannot list resource "secrets" in API group "" in the namespace "${namespace}"`,
        );
        expect(status.details).toEqual({ kind: 'secrets' });
      });

      it('contain the name of a single object', async () => {
        const status = expectRejection(await foreign().get(inside('secrets', 'hidden')), 403, 'Forbidden');
        expect(status.message).toBe(
          `secrets "hidden" is forbidden: User "stranger" cannot get resource "secrets" in API group "" in the namespace "${namespace}"`,
        );
        expect(status.details).toEqual({ name: 'hidden', kind: 'secrets' });
      });

      it('do not reveal whether the object exists', async () => {
        expectRejection(await foreign().get(inside('configmaps', 'nothing')), 403, 'Forbidden');
        expectRejection(
          await foreign().get(`/api/v1/namespaces/${server().unique('no')}/configmaps/x`),
          403,
          'Forbidden',
        );
      });

      it('contain "at the cluster scope" without a namespace', async () => {
        expect(expectRejection(await foreign().get('/api/v1/nodes'), 403, 'Forbidden').message).toBe(
          'nodes is forbidden: User "stranger" cannot list resource "nodes" in API group "" at the cluster scope',
        );
        expect(expectRejection(await foreign().get('/api/v1/secrets'), 403, 'Forbidden').message).toBe(
          'secrets is forbidden: User "stranger" cannot list resource "secrets" in API group "" at the cluster scope',
        );
      });

      it('contain the group of a custom kind and the sub-resource', async () => {
        const { group } = server();
        const kind = expectRejection(await foreign().get(widget.path(namespace, 'x')), 403, 'Forbidden');
        expect(kind.message).toBe(
          `widgets.${group} "x" is forbidden: User "stranger" cannot get resource "widgets" in API group "${group}" in the namespace "${namespace}"`,
        );
        expect(kind.details).toEqual({ name: 'x', group, kind: 'widgets' });
        const status = expectRejection(
          await foreign().merge(widget.path(namespace, 'x', 'status'), {}),
          403,
          'Forbidden',
        );
        expect(status.message).toBe(
          `widgets.${group} "x" is forbidden: User "stranger" cannot patch resource "widgets/status" in API group "${group}" in the namespace "${namespace}"`,
        );
      });

      it('treat a namespace as inside itself', async () => {
        const status = expectRejection(await foreign().get(`/api/v1/namespaces/${namespace}`), 403, 'Forbidden');
        expect(status.message).toBe(
          `namespaces "${namespace}" is forbidden: User "stranger" cannot get resource "namespaces" in API group "" in the namespace "${namespace}"`,
        );
      });

      it('of a non-resource path contain the path', async () => {
        const status = expectRejection(await foreign().get('/metrics'), 403, 'Forbidden');
        expect(status.message).toBe('forbidden: User "stranger" cannot get path "/metrics"');
      });

      it.each<[string, string, (wire: RawKubeClient) => ReturnType<RawKubeClient['get']>]>([
        ['a POST', 'create', (wire) => wire.post(inside('configmaps'), { metadata: { name: 'x' } })],
        ['a PUT', 'update', (wire) => wire.put(inside('configmaps', 'x'), { metadata: { name: 'x' } })],
        ['a PATCH', 'patch', (wire) => wire.merge(inside('configmaps', 'x'), {})],
        ['a DELETE of one', 'delete', (wire) => wire.delete(inside('configmaps', 'x'))],
        ['a DELETE of all', 'deletecollection', (wire) => wire.delete(inside('configmaps'))],
        ['a GET of all with watch', 'watch', (wire) => wire.get(inside('configmaps'), { query: { watch: true } })],
      ])('name the verb of %s: %s', async (_, verb, call) => {
        expect(expectRejection(await call(foreign()), 403, 'Forbidden').message).toContain(
          `cannot ${verb} resource "configmaps"`,
        );
      });
    });

    describe('rules', () => {
      it('allow exactly their verbs on their resources in their namespace', async () => {
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create'] }],
        });
        expectSuccess(await wire.post(inside('configmaps'), { metadata: { name: 'mine' } }), 201);
        expectSuccess(await wire.get(inside('configmaps', 'mine')));
        expectRejection(await wire.get(inside('configmaps')), 403, 'Forbidden');
        expectRejection(await wire.delete(inside('configmaps', 'mine')), 403, 'Forbidden');
        expectRejection(await wire.get(inside('secrets', 'mine')), 403, 'Forbidden');
        expectRejection(await wire.get(inside('configmaps', 'mine', other)), 403, 'Forbidden');
      });

      it('with resourceNames allow those names only, and a list that selects one of them', async () => {
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [
            { apiGroups: [''], resources: ['configmaps'], resourceNames: ['named'], verbs: ['get', 'list', 'watch'] },
          ],
        });
        expectSuccess(await server().admin.post(inside('configmaps'), { metadata: { name: 'named' } }), 201);
        expectSuccess(await wire.get(inside('configmaps', 'named')));
        expectRejection(await wire.get(inside('configmaps', 'unnamed')), 403, 'Forbidden');
        expectRejection(await wire.get(inside('configmaps')), 403, 'Forbidden');
        expectSuccess(await wire.get(inside('configmaps'), { query: { fieldSelector: 'metadata.name=named' } }));
      });

      it('on a kind do not include its sub-resources, nor the reverse', async () => {
        const { group, admin } = server();
        const name = randomName();
        expectSuccess(await admin.post(widget.path(namespace), widget.make(name)), 201);
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [{ apiGroups: [group], resources: ['widgets/status'], verbs: ['get', 'patch'] }],
        });
        expectSuccess(await wire.merge(widget.path(namespace, name, 'status'), { status: { phase: 'x' } }));
        expectRejection(await wire.merge(widget.path(namespace, name), { spec: { size: 2 } }), 403, 'Forbidden');
      });

      it('with wildcards allow everything of that category', async () => {
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
        });
        expectSuccess(await wire.get(inside('secrets')));
        expectSuccess(await wire.get(widget.path(namespace)));
        expectRejection(await wire.get(inside('secrets', undefined, other)), 403, 'Forbidden');
      });

      it('of a ClusterRole bound by a RoleBinding apply in that namespace only', async () => {
        const { admin } = server();
        const user = server().unique('viewer');
        const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
        expectSuccess(
          await admin.post(roles('rolebindings'), {
            metadata: { name: user },
            subjects,
            roleRef: roleRef('ClusterRole', 'view'),
          }),
          201,
        );
        const wire = server().impersonating(user);
        await eventuallyResponds(
          'he may look',
          () => wire.get(inside('configmaps')),
          ({ status }) => status === 200,
        );
        expectRejection(await wire.get(inside('secrets')), 403, 'Forbidden');
        expectRejection(await wire.get(inside('configmaps', undefined, other)), 403, 'Forbidden');
      });

      it('bound to a group apply to its members', async () => {
        const { admin } = server();
        const group = server().unique('group');
        const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }];
        expectSuccess(
          await admin.post(roles('rolebindings'), {
            metadata: { name: group },
            subjects,
            roleRef: roleRef('ClusterRole', 'edit'),
          }),
          201,
        );
        const wire = server().impersonating('anyone', [group]);
        await eventuallyResponds(
          'members may read secrets',
          () => wire.get(inside('secrets')),
          ({ status }) => status === 200,
        );
        expectRejection(await server().impersonating('anyone').get(inside('secrets')), 403, 'Forbidden');
      });

      it('end with their binding', async () => {
        const { user, wire } = await createUserWithRights(server(), {
          namespace,
          rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
        });
        expectSuccess(await wire.get(inside('configmaps')));
        expectSuccess(await server().admin.delete(roles('rolebindings', user)));
        await eventuallyResponds(
          'refused',
          () => wire.get(inside('configmaps')),
          ({ status }) => status === 403,
        );
      });

      it('of an aggregated ClusterRole are those of all roles with the label', async () => {
        const { admin } = server();
        const name = server().unique('sum');
        const label = { [`aggregate.example.com/${name}`]: 'true' };
        const part = {
          metadata: { name: `${name}-part`, labels: label },
          rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
        };
        expectSuccess(await admin.post(`${rbacPath}/clusterroles`, part), 201);
        server().deleteLater(`${rbacPath}/clusterroles/${name}-part`);
        const sum = {
          metadata: { name },
          aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
          rules: [],
        };
        expectSuccess(await admin.post(`${rbacPath}/clusterroles`, sum), 201);
        server().deleteLater(`${rbacPath}/clusterroles/${name}`);
        await eventuallyResponds(
          'the rules are summed',
          () => admin.get(`${rbacPath}/clusterroles/${name}`),
          ({ body }) => body.rules?.length === 1 && body.rules[0].resources[0] === 'pods',
        );
      });
    });
  });
}
