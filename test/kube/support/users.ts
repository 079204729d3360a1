import { eventually, type ServerUnderTest } from './server-under-test.ts';
import type { Answer, Body, Wire } from './wire.ts';

/** Base path of the RBAC kinds. */
export const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** What a binding binds. */
export const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name,
});

/** What a user may do: `rules` in one namespace, `everywhere` in all. */
export interface Rights {
  readonly namespace: string;
  readonly rules: readonly Body[];
  readonly everywhere?: readonly Body[];
}

/** A new user with these rights, by impersonation. Resolves when the server has seen them. */
export async function userWith(
  server: ServerUnderTest,
  { namespace, rules, everywhere }: Rights,
): Promise<{ user: string; wire: Wire }> {
  const { admin } = server;
  const user = server.unique('user');
  const metadata = { name: user };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
  const inside = `${rbac}/namespaces/${namespace}`;
  created(await admin.post(`${inside}/roles`, { metadata, rules }));
  created(await admin.post(`${inside}/rolebindings`, { metadata, subjects, roleRef: roleRef('Role', user) }));
  if (everywhere) {
    created(await admin.post(`${rbac}/clusterroles`, { metadata, rules: everywhere }));
    server.deleteLater(`${rbac}/clusterroles/${user}`);
    const binding = { metadata, subjects, roleRef: roleRef('ClusterRole', user) };
    created(await admin.post(`${rbac}/clusterrolebindings`, binding));
    server.deleteLater(`${rbac}/clusterrolebindings/${user}`);
  }
  const { verbs, apiGroups, resources, resourceNames } = rules[0];
  const name = resourceNames ? { name: resourceNames[0] } : {};
  const resourceAttributes = { namespace, verb: verbs[0], group: apiGroups[0], resource: resources[0], ...name };
  await eventually(
    `${user} has his rights`,
    () => admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { user, resourceAttributes } }),
    ({ body }) => body.status?.allowed === true,
  );
  return { user, wire: server.impersonating(user) };
}

function created(answer: Answer): void {
  if (answer.status !== 201) throw new Error(`not created: ${answer.text}`);
}
