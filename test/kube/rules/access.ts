import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, refuses, succeeds } from '../support/expectations.ts';
import { eventually, type ServerUnderTest } from '../support/server-under-test.ts';
import { type Widgets, widgets, word } from '../support/widgets.ts';
import type { Body, Wire } from '../support/wire.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });

/** RBAC: who may do what, in which words it is refused, and that nobody can hand out more than he has. */
export function accessRules(server: () => ServerUnderTest): void {
  describe('RBAC', () => {
    let namespace: string;
    let other: string;
    let widget: Widgets;

    beforeAll(async () => {
      namespace = await server().namespace('access');
      other = await server().namespace('other');
      widget = await widgets(server());
    });

    const inside = (plural: string, name?: string, where = namespace) =>
      `/api/v1/namespaces/${where}/${plural}${name ? `/${name}` : ''}`;
    const roles = (kind: 'roles' | 'rolebindings', name?: string) =>
      `${rbac}/namespaces/${namespace}/${kind}${name ? `/${name}` : ''}`;

    /** A user with these rules in `namespace`, by impersonation. */
    async function userWith(rules: Body[], extra: Body[] = []): Promise<{ user: string; wire: Wire }> {
      const { admin } = server();
      const user = server().unique('user');
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
      succeeds(await admin.post(roles('roles'), { metadata: { name: user }, rules }), 201);
      succeeds(
        await admin.post(roles('rolebindings'), { metadata: { name: user }, subjects, roleRef: roleRef('Role', user) }),
        201,
      );
      if (extra.length > 0) {
        succeeds(await admin.post(`${rbac}/clusterroles`, { metadata: { name: user }, rules: extra }), 201);
        const body = { metadata: { name: user }, subjects, roleRef: roleRef('ClusterRole', user) };
        succeeds(await admin.post(`${rbac}/clusterrolebindings`, body), 201);
        server().deleteLater(`${rbac}/clusterroles/${user}`);
        server().deleteLater(`${rbac}/clusterrolebindings/${user}`);
      }
      const wire = server().impersonating(user);
      const first = rules[0] ?? {};
      const attributes = { namespace, verb: first.verbs[0], group: first.apiGroups[0], resource: first.resources[0] };
      // A new rule takes a moment until the authorizer has seen it.
      await eventually(
        `${user} has his rights`,
        () =>
          admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            spec: {
              user,
              resourceAttributes: first.resourceNames ? { ...attributes, name: first.resourceNames[0] } : attributes,
            },
          }),
        ({ body }) => body.status?.allowed === true,
      );
      return { user, wire };
    }

    describe('refusals', () => {
      const stranger = () => server().impersonating('stranger');

      it('say user, verb, resource, group and namespace in one sentence', async () => {
        const status = refuses(await stranger().get(inside('secrets')), 403, 'Forbidden');
        expect(status.message).toBe(
          `secrets is forbidden: User "stranger" cannot list resource "secrets" in API group "" in the namespace "${namespace}"`,
        );
        expect(status.details).toEqual({ kind: 'secrets' });
      });

      it('name the object when one was asked for', async () => {
        const status = refuses(await stranger().get(inside('secrets', 'hidden')), 403, 'Forbidden');
        expect(status.message).toBe(
          `secrets "hidden" is forbidden: User "stranger" cannot get resource "secrets" in API group "" in the namespace "${namespace}"`,
        );
        expect(status.details).toEqual({ name: 'hidden', kind: 'secrets' });
      });

      it('come before it is told whether the object exists', async () => {
        refuses(await stranger().get(inside('configmaps', 'nothing')), 403, 'Forbidden');
        refuses(await stranger().get(`/api/v1/namespaces/${server().unique('no')}/configmaps/x`), 403, 'Forbidden');
      });

      it('say "at the cluster scope" where there is no namespace', async () => {
        expect(refuses(await stranger().get('/api/v1/nodes'), 403, 'Forbidden').message).toBe(
          'nodes is forbidden: User "stranger" cannot list resource "nodes" in API group "" at the cluster scope',
        );
        expect(refuses(await stranger().get('/api/v1/secrets'), 403, 'Forbidden').message).toBe(
          'secrets is forbidden: User "stranger" cannot list resource "secrets" in API group "" at the cluster scope',
        );
      });

      it('name the group of a custom kind and the sub-resource', async () => {
        const { group } = server();
        const kind = refuses(await stranger().get(widget.path(namespace, 'x')), 403, 'Forbidden');
        expect(kind.message).toBe(
          `widgets.${group} "x" is forbidden: User "stranger" cannot get resource "widgets" in API group "${group}" in the namespace "${namespace}"`,
        );
        expect(kind.details).toEqual({ name: 'x', group, kind: 'widgets' });
        const status = refuses(await stranger().merge(widget.path(namespace, 'x', 'status'), {}), 403, 'Forbidden');
        expect(status.message).toBe(
          `widgets.${group} "x" is forbidden: User "stranger" cannot patch resource "widgets/status" in API group "${group}" in the namespace "${namespace}"`,
        );
      });

      it('treat a namespace as inside itself', async () => {
        const status = refuses(await stranger().get(`/api/v1/namespaces/${namespace}`), 403, 'Forbidden');
        expect(status.message).toBe(
          `namespaces "${namespace}" is forbidden: User "stranger" cannot get resource "namespaces" in API group "" in the namespace "${namespace}"`,
        );
      });

      it('of a path that is no resource name the path', async () => {
        const status = refuses(await stranger().get('/metrics'), 403, 'Forbidden');
        expect(status.message).toBe('forbidden: User "stranger" cannot get path "/metrics"');
      });

      it.each<[string, string, (wire: Wire) => ReturnType<Wire['get']>]>([
        ['a POST', 'create', (wire) => wire.post(inside('configmaps'), { metadata: { name: 'x' } })],
        ['a PUT', 'update', (wire) => wire.put(inside('configmaps', 'x'), { metadata: { name: 'x' } })],
        ['a PATCH', 'patch', (wire) => wire.merge(inside('configmaps', 'x'), {})],
        ['a DELETE of one', 'delete', (wire) => wire.delete(inside('configmaps', 'x'))],
        ['a DELETE of all', 'deletecollection', (wire) => wire.delete(inside('configmaps'))],
        ['a GET of all with watch', 'watch', (wire) => wire.get(inside('configmaps'), { query: { watch: true } })],
      ])('call %s %s', async (_, verb, call) => {
        expect(refuses(await call(stranger()), 403, 'Forbidden').message).toContain(
          `cannot ${verb} resource "configmaps"`,
        );
      });
    });

    describe('rules', () => {
      it('allow exactly their verbs on their resources in their namespace', async () => {
        const { wire } = await userWith([{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create'] }]);
        succeeds(await wire.post(inside('configmaps'), { metadata: { name: 'mine' } }), 201);
        succeeds(await wire.get(inside('configmaps', 'mine')));
        refuses(await wire.get(inside('configmaps')), 403, 'Forbidden');
        refuses(await wire.delete(inside('configmaps', 'mine')), 403, 'Forbidden');
        refuses(await wire.get(inside('secrets', 'mine')), 403, 'Forbidden');
        refuses(await wire.get(inside('configmaps', 'mine', other)), 403, 'Forbidden');
      });

      it('with resourceNames allow those names only, and a list that asks for one of them', async () => {
        const { wire } = await userWith([
          { apiGroups: [''], resources: ['configmaps'], resourceNames: ['named'], verbs: ['get', 'list', 'watch'] },
        ]);
        succeeds(await server().admin.post(inside('configmaps'), { metadata: { name: 'named' } }), 201);
        succeeds(await wire.get(inside('configmaps', 'named')));
        refuses(await wire.get(inside('configmaps', 'unnamed')), 403, 'Forbidden');
        refuses(await wire.get(inside('configmaps')), 403, 'Forbidden');
        succeeds(await wire.get(inside('configmaps'), { query: { fieldSelector: 'metadata.name=named' } }));
      });

      it('on a kind say nothing about its sub-resources, and the other way round', async () => {
        const { group, admin } = server();
        const name = word();
        succeeds(await admin.post(widget.path(namespace), widget.make(name)), 201);
        const { wire } = await userWith([
          { apiGroups: [group], resources: ['widgets/status'], verbs: ['get', 'patch'] },
        ]);
        succeeds(await wire.merge(widget.path(namespace, name, 'status'), { status: { phase: 'x' } }));
        refuses(await wire.merge(widget.path(namespace, name), { spec: { size: 2 } }), 403, 'Forbidden');
      });

      it('with stars allow everything of that sort', async () => {
        const { wire } = await userWith([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
        succeeds(await wire.get(inside('secrets')));
        succeeds(await wire.get(widget.path(namespace)));
        refuses(await wire.get(inside('secrets', undefined, other)), 403, 'Forbidden');
      });

      it('of a ClusterRole bound by a RoleBinding count in that namespace only', async () => {
        const { admin } = server();
        const user = server().unique('viewer');
        const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
        succeeds(
          await admin.post(roles('rolebindings'), {
            metadata: { name: user },
            subjects,
            roleRef: roleRef('ClusterRole', 'view'),
          }),
          201,
        );
        const wire = server().impersonating(user);
        await eventually(
          'he may look',
          () => wire.get(inside('configmaps')),
          ({ status }) => status === 200,
        );
        refuses(await wire.get(inside('secrets')), 403, 'Forbidden');
        refuses(await wire.get(inside('configmaps', undefined, other)), 403, 'Forbidden');
      });

      it('bound to a group count for its members', async () => {
        const { admin } = server();
        const group = server().unique('group');
        const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }];
        succeeds(
          await admin.post(roles('rolebindings'), {
            metadata: { name: group },
            subjects,
            roleRef: roleRef('ClusterRole', 'edit'),
          }),
          201,
        );
        const wire = server().impersonating('anyone', [group]);
        await eventually(
          'members may read secrets',
          () => wire.get(inside('secrets')),
          ({ status }) => status === 200,
        );
        refuses(await server().impersonating('anyone').get(inside('secrets')), 403, 'Forbidden');
      });

      it('end with their binding', async () => {
        const { user, wire } = await userWith([{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]);
        succeeds(await wire.get(inside('configmaps')));
        succeeds(await server().admin.delete(roles('rolebindings', user)));
        await eventually(
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
        succeeds(await admin.post(`${rbac}/clusterroles`, part), 201);
        server().deleteLater(`${rbac}/clusterroles/${name}-part`);
        const sum = {
          metadata: { name },
          aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
          rules: [],
        };
        succeeds(await admin.post(`${rbac}/clusterroles`, sum), 201);
        server().deleteLater(`${rbac}/clusterroles/${name}`);
        await eventually(
          'the rules are summed',
          () => admin.get(`${rbac}/clusterroles/${name}`),
          ({ body }) => body.rules?.length === 1 && body.rules[0].resources[0] === 'pods',
        );
      });
    });

    describe('objects', () => {
      it('of a binding keep their roleRef for ever', async () => {
        const name = word();
        const body = { metadata: { name }, subjects: [], roleRef: roleRef('ClusterRole', 'view') };
        succeeds(await server().admin.post(roles('rolebindings'), body), 201);
        const patch = { roleRef: roleRef('ClusterRole', 'edit') };
        const status = refuses(await server().admin.merge(roles('rolebindings', name), patch), 422, 'Invalid');
        expect(causesOf(status)).toEqual([
          'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
        ]);
      });

      it('refuse a rule without verbs, and a subject of a kind that does not exist', async () => {
        const rules = [{ apiGroups: [''], resources: ['pods'], verbs: [] }];
        const role = refuses(
          await server().admin.post(roles('roles'), { metadata: { name: word() }, rules }),
          422,
          'Invalid',
        );
        expect(causesOf(role)).toEqual(['rules[0].verbs: Required value: verbs must contain at least one value']);
        const subjects = [{ kind: 'Robot', name: 'x' }];
        const body = { metadata: { name: word() }, subjects, roleRef: roleRef('ClusterRole', 'view') };
        refuses(await server().admin.post(roles('rolebindings'), body), 422, 'Invalid');
      });

      it('fill in the apiGroup of a subject by its kind, and at cluster scope need the namespace of a ServiceAccount', async () => {
        const subjects = [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', name: 's', namespace },
        ];
        const make = (list: Body[]) => ({
          metadata: { name: word() },
          subjects: list,
          roleRef: roleRef('ClusterRole', 'view'),
        });
        const body = succeeds(await server().admin.post(roles('rolebindings'), make(subjects)), 201);
        expect(body.subjects).toEqual([
          { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'ServiceAccount', name: 's', namespace },
        ]);
        const nowhere = make([{ kind: 'ServiceAccount', name: 's' }]);
        const status = refuses(await server().admin.post(`${rbac}/clusterrolebindings`, nowhere), 422, 'Invalid');
        expect(causesOf(status)).toEqual(['subjects[0].namespace: Required value']);
      });

      it('may be bound before the role exists', async () => {
        const body = { metadata: { name: word() }, subjects: [], roleRef: roleRef('Role', 'not-yet') };
        succeeds(await server().admin.post(roles('rolebindings'), body), 201);
      });

      it('have names that may hold a colon', async () => {
        const name = `system:${word()}`;
        succeeds(await server().admin.post(roles('roles'), { metadata: { name }, rules: [] }), 201);
        expect(succeeds(await server().admin.get(roles('roles', encodeURIComponent(name)))).metadata.name).toBe(name);
      });

      it('of the bootstrap are there: cluster-admin, admin, edit, view and discovery for everybody', async () => {
        const { admin } = server();
        for (const name of ['cluster-admin', 'admin', 'edit', 'view', 'system:discovery', 'system:basic-user'])
          succeeds(await admin.get(`${rbac}/clusterroles/${name}`));
        const { rules } = succeeds(await admin.get(`${rbac}/clusterroles/cluster-admin`));
        expect(rules).toEqual([
          { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
          { nonResourceURLs: ['*'], verbs: ['*'] },
        ]);
        const stranger = server().impersonating('someone', ['system:authenticated']);
        succeeds(await stranger.get('/apis'));
        succeeds(await stranger.get('/api/v1'));
        succeeds(await stranger.get('/version'));
      });
    });

    describe('nobody hands out more than he has', () => {
      const writer = {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['roles', 'rolebindings'],
        verbs: ['create', 'update', 'patch', 'get'],
      };

      it('a role with rights that its writer lacks is refused, and the missing rules are named', async () => {
        const { user, wire } = await userWith([writer, { apiGroups: [''], resources: ['pods'], verbs: ['get'] }]);
        const name = word();
        const rules = [{ apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'list'] }];
        const status = refuses(await wire.post(roles('roles'), { metadata: { name }, rules }), 403, 'Forbidden');
        expect(status.message).toMatch(
          new RegExp(
            `^roles\\.rbac\\.authorization\\.k8s\\.io "${name}" is forbidden: user "${user}" \\(groups=\\[.*"system:authenticated".*\\]\\) is attempting to grant RBAC permissions not currently held:\\n`,
          ),
        );
        expect(status.message.split('\n').slice(1).sort()).toEqual([
          '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
          '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
        ]);
        succeeds(
          await wire.post(roles('roles'), {
            metadata: { name },
            rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
          }),
          201,
        );
        refuses(await wire.merge(roles('roles', name), { rules }), 403, 'Forbidden');
      });

      it('a binding to a role with rights that its writer lacks is refused', async () => {
        const { user, wire } = await userWith([writer]);
        const name = word();
        const body = {
          metadata: { name },
          subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
          roleRef: roleRef('ClusterRole', 'view'),
        };
        const status = refuses(await wire.post(roles('rolebindings'), body), 403, 'Forbidden');
        expect(status.message).toContain(
          `rolebindings.rbac.authorization.k8s.io "${name}" is forbidden: user "${user}"`,
        );
        expect(status.message).toContain('is attempting to grant RBAC permissions not currently held:');
      });

      it('the verb escalate lifts the first rule', async () => {
        const { wire } = await userWith([
          writer,
          { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['escalate'] },
        ]);
        const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
        succeeds(await wire.post(roles('roles'), { metadata: { name: word() }, rules }), 201);
      });

      it('the verb bind on the role lifts the second, for that role', async () => {
        const { wire } = await userWith(
          [writer],
          [
            {
              apiGroups: ['rbac.authorization.k8s.io'],
              resources: ['clusterroles'],
              resourceNames: ['view'],
              verbs: ['bind'],
            },
          ],
        );
        const body = (name: string) => ({
          metadata: { name: word() },
          subjects: [],
          roleRef: roleRef('ClusterRole', name),
        });
        await eventually(
          'bind is known',
          () => wire.post(roles('rolebindings'), body('view')),
          ({ status }) => status === 201,
        );
        refuses(await wire.post(roles('rolebindings'), body('edit')), 403, 'Forbidden');
      });

      it('a binding to a role that is not there is refused to all but those who may bind', async () => {
        const { wire } = await userWith([writer]);
        const body = { metadata: { name: word() }, subjects: [], roleRef: roleRef('Role', 'not-there') };
        refuses(await wire.post(roles('rolebindings'), body), 404, 'NotFound');
      });
    });
  });
}
