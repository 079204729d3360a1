import type { Body, RawKubeClient, RawResponse } from './raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from './server-under-test.ts';

/** Base path of the RBAC kinds. */
export const rbacPath = '/apis/rbac.authorization.k8s.io/v1';

/** The role reference of a binding. */
export const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name,
});

/** The rights of a user: `rules` in one namespace, `everywhere` in all. */
export interface UserRights {
  readonly namespace: string;
  readonly rules: readonly Body[];
  readonly everywhere?: readonly Body[];
}

/** A new user with these rights, by impersonation. Resolves when the server applies them. */
export async function createUserWithRights(
  server: ServerUnderTest,
  { namespace, rules, everywhere }: UserRights,
): Promise<{ user: string; wire: RawKubeClient }> {
  const { admin } = server;
  const user = server.unique('user');
  const metadata = { name: user };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
  const inside = `${rbacPath}/namespaces/${namespace}`;
  expectCreated(await admin.post(`${inside}/roles`, { metadata, rules }));
  expectCreated(await admin.post(`${inside}/rolebindings`, { metadata, subjects, roleRef: roleRef('Role', user) }));
  if (everywhere) {
    expectCreated(await admin.post(`${rbacPath}/clusterroles`, { metadata, rules: everywhere }));
    server.deleteLater(`${rbacPath}/clusterroles/${user}`);
    const binding = { metadata, subjects, roleRef: roleRef('ClusterRole', user) };
    expectCreated(await admin.post(`${rbacPath}/clusterrolebindings`, binding));
    server.deleteLater(`${rbacPath}/clusterrolebindings/${user}`);
  }
  const { verbs, apiGroups, resources, resourceNames } = rules[0];
  const name = resourceNames ? { name: resourceNames[0] } : {};
  const resourceAttributes = { namespace, verb: verbs[0], group: apiGroups[0], resource: resources[0], ...name };
  await eventuallyResponds(
    `${user} has his rights`,
    () => admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { user, resourceAttributes } }),
    ({ body }) => body.status?.allowed === true,
  );
  return { user, wire: server.impersonating(user) };
}

function expectCreated(answer: RawResponse): void {
  if (answer.status !== 201) throw new Error(`not created: ${answer.text}`);
}
