import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { createUserWithRights, rbacPath, roleRef } from '../../support/users.ts';
import { randomName } from '../../support/widgets.ts';

/** Roles and bindings as objects, and the prevention of privilege escalation. */
export function testRbacObjects(server: () => ServerUnderTest): void {
  describe('RBAC', () => {
    let namespace: string;

    beforeAll(async () => {
      namespace = await server().namespace('granting');
    });

    const roles = (kind: 'roles' | 'rolebindings', name?: string) =>
      `${rbacPath}/namespaces/${namespace}/${kind}${name ? `/${name}` : ''}`;

    describe('objects', () => {
      it('of a binding kind have an immutable roleRef', async () => {
        const name = randomName();
        const body = { metadata: { name }, subjects: [], roleRef: roleRef('ClusterRole', 'view') };
        expectSuccess(await server().admin.post(roles('rolebindings'), body), 201);
        const patch = { roleRef: roleRef('ClusterRole', 'edit') };
        const status = expectRejection(await server().admin.merge(roles('rolebindings', name), patch), 422, 'Invalid');
        expect(causesOf(status)).toEqual([
          'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
        ]);
      });

      it('reject a rule without verbs, and a subject of an unknown kind', async () => {
        const rules = [{ apiGroups: [''], resources: ['pods'], verbs: [] }];
        const role = expectRejection(
          await server().admin.post(roles('roles'), { metadata: { name: randomName() }, rules }),
          422,
          'Invalid',
        );
        expect(causesOf(role)).toEqual(['rules[0].verbs: Required value: verbs must contain at least one value']);
        const subjects = [{ kind: 'Robot', name: 'x' }];
        const body = { metadata: { name: randomName() }, subjects, roleRef: roleRef('ClusterRole', 'view') };
        expectRejection(await server().admin.post(roles('rolebindings'), body), 422, 'Invalid');
      });

      it('default the apiGroup of a subject, and reject a cluster-wide ServiceAccount without namespace', async () => {
        const subjects = [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', name: 's', namespace },
        ];
        const make = (list: Body[]) => ({
          metadata: { name: randomName() },
          subjects: list,
          roleRef: roleRef('ClusterRole', 'view'),
        });
        const body = expectSuccess(await server().admin.post(roles('rolebindings'), make(subjects)), 201);
        expect(body.subjects).toEqual([
          { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'ServiceAccount', name: 's', namespace },
        ]);
        const noExtent = make([{ kind: 'ServiceAccount', name: 's' }]);
        const status = expectRejection(
          await server().admin.post(`${rbacPath}/clusterrolebindings`, noExtent),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual(['subjects[0].namespace: Required value']);
      });

      it('may be bound before the role exists', async () => {
        const body = { metadata: { name: randomName() }, subjects: [], roleRef: roleRef('Role', 'not-yet') };
        expectSuccess(await server().admin.post(roles('rolebindings'), body), 201);
      });

      it('may have names with a colon', async () => {
        const name = `system:${randomName()}`;
        expectSuccess(await server().admin.post(roles('roles'), { metadata: { name }, rules: [] }), 201);
        expect(expectSuccess(await server().admin.get(roles('roles', encodeURIComponent(name)))).metadata.name).toBe(
          name,
        );
      });

      it('of the bootstrap policy exist: cluster-admin, admin, edit, view and discovery for all users', async () => {
        const { admin } = server();
        for (const name of ['cluster-admin', 'admin', 'edit', 'view', 'system:discovery', 'system:basic-user'])
          expectSuccess(await admin.get(`${rbacPath}/clusterroles/${name}`));
        const { rules } = expectSuccess(await admin.get(`${rbacPath}/clusterroles/cluster-admin`));
        expect(rules).toEqual([
          { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
          { nonResourceURLs: ['*'], verbs: ['*'] },
        ]);
        const foreign = server().impersonating('someone', ['system:authenticated']);
        expectSuccess(await foreign.get('/apis'));
        expectSuccess(await foreign.get('/api/v1'));
        expectSuccess(await foreign.get('/version'));
      });
    });

    describe('privilege escalation is prevented', () => {
      const writer = {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['roles', 'rolebindings'],
        verbs: ['create', 'update', 'patch', 'get'],
      };

      it('a role with rights that its writer lacks is rejected, and the missing rules are named', async () => {
        const { user, wire } = await createUserWithRights(server(), {
          namespace,
          rules: [writer, { apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
        });
        const name = randomName();
        const rules = [{ apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'list'] }];
        const status = expectRejection(
          await wire.post(roles('roles'), { metadata: { name }, rules }),
          403,
          'Forbidden',
        );
        expect(status.message).toMatch(
          new RegExp(
            `^roles\\.rbac\\.authorization\\.k8s\\.io "${name}" is forbidden: user "${user}" \\(groups=\\[.*"system:authenticated".*\\]\\) is attempting to grant RBAC permissions not currently held:\\n`,
          ),
        );
        expect(status.message.split('\n').slice(1).sort()).toEqual([
          '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
          '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
        ]);
        expectSuccess(
          await wire.post(roles('roles'), {
            metadata: { name },
            rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
          }),
          201,
        );
        expectRejection(await wire.merge(roles('roles', name), { rules }), 403, 'Forbidden');
      });

      it('a binding to a role with rights that its writer lacks is rejected', async () => {
        const { user, wire } = await createUserWithRights(server(), { namespace, rules: [writer] });
        const name = randomName();
        const body = {
          metadata: { name },
          subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
          roleRef: roleRef('ClusterRole', 'view'),
        };
        const status = expectRejection(await wire.post(roles('rolebindings'), body), 403, 'Forbidden');
        expect(status.message).toContain(
          `rolebindings.rbac.authorization.k8s.io "${name}" is forbidden: user "${user}"`,
        );
        expect(status.message).toContain('is attempting to grant RBAC permissions not currently held:');
      });

      it('the verb escalate permits such a role', async () => {
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [writer, { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['escalate'] }],
        });
        const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
        expectSuccess(await wire.post(roles('roles'), { metadata: { name: randomName() }, rules }), 201);
      });

      it('the verb bind on the role permits such a binding, for that role', async () => {
        const { wire } = await createUserWithRights(server(), {
          namespace,
          rules: [writer],
          everywhere: [
            {
              apiGroups: ['rbac.authorization.k8s.io'],
              resources: ['clusterroles'],
              resourceNames: ['view'],
              verbs: ['bind'],
            },
          ],
        });
        const body = (name: string) => ({
          metadata: { name: randomName() },
          subjects: [],
          roleRef: roleRef('ClusterRole', name),
        });
        await eventuallyResponds(
          'bind is known',
          () => wire.post(roles('rolebindings'), body('view')),
          ({ status }) => status === 201,
        );
        expectRejection(await wire.post(roles('rolebindings'), body('edit')), 403, 'Forbidden');
      });

      it('a binding to a role that does not exist is rejected without the verb bind', async () => {
        const { wire } = await createUserWithRights(server(), { namespace, rules: [writer] });
        const body = { metadata: { name: randomName() }, subjects: [], roleRef: roleRef('Role', 'not-there') };
        expectRejection(await wire.post(roles('rolebindings'), body), 404, 'NotFound');
      });
    });
  });
}
