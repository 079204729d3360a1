import type { RbacRule } from '../auth/rbac.ts';
import { aggregateRole } from '../controllers/role-aggregation.ts';
import type { ObjectStorage } from './store.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** Creates the initial objects of a cluster in a new "etcd". Does nothing on a store that has them. */
export function createBootstrapObjects(storage: ObjectStorage): void {
  if (storage.read('namespaces', undefined, 'kube-system')) return;
  for (const name of namespaces) {
    storage.put({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }
  for (const [name, rules] of Object.entries(roles)) putRole(storage, name, rules);
  for (const [name, part] of Object.entries(roleParts)) {
    putRole(storage, `system:aggregate-to-${name}`, part, {
      [`rbac.authorization.k8s.io/aggregate-to-${name}`]: 'true',
    });
  }
  for (const [name, selected] of Object.entries(aggregatedRoles)) putAggregatedRole(storage, name, selected);
  for (const name of ['view', 'edit', 'admin']) aggregateRole(storage, name);
  for (const [name, groups] of Object.entries(bindings)) putBinding(storage, name, groups);
}

const apiVersion = 'rbac.authorization.k8s.io/v1';
const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' };

function putRole(
  storage: ObjectStorage,
  name: string,
  rules: readonly RbacRule[],
  more: Record<string, string> = {},
): void {
  const metadata = { name, labels: { ...labels, ...more }, annotations };
  storage.put({ apiVersion, kind: 'ClusterRole', metadata, rules });
}

function putAggregatedRole(storage: ObjectStorage, name: string, selected: readonly string[]): void {
  const clusterRoleSelectors = selected.map((part) => ({
    matchLabels: { [`rbac.authorization.k8s.io/aggregate-to-${part}`]: 'true' },
  }));
  // Each of the three is a part of the next larger one.
  const bigger = { view: 'edit', edit: 'admin' }[name];
  const more = bigger ? { [`rbac.authorization.k8s.io/aggregate-to-${bigger}`]: 'true' } : {};
  const metadata = { name, labels: { ...labels, ...more }, annotations };
  storage.put({ apiVersion, kind: 'ClusterRole', metadata, aggregationRule: { clusterRoleSelectors }, rules: [] });
}

function putBinding(storage: ObjectStorage, name: string, groups: readonly string[]): void {
  storage.put({
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels, annotations },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: groups.map((group) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group })),
  });
}

const words = (text: string): string[] => text.split(' ');
const rule = (verbs: readonly string[], apiGroup: string, resources: string): RbacRule => ({
  ...{ verbs, apiGroups: [apiGroup], resources: words(resources) },
});
const paths = (text: string): RbacRule => ({ verbs: ['get'], nonResourceURLs: words(text) });
const readVerbs = ['get', 'list', 'watch'];
const writeVerbs = ['create', 'delete', 'deletecollection', 'patch', 'update'];

/** ClusterRoles without aggregation. */
const roles: Readonly<Record<string, readonly RbacRule[]>> = {
  'cluster-admin': [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
  'system:discovery': [
    paths('/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/'),
  ],
  'system:public-info-viewer': [paths('/healthz /livez /readyz /version /version/')],
  'system:basic-user': [
    rule(['create'], 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    rule(['create'], 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:auth-delegator': [
    rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
    rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
  ],
  'system:service-account-issuer-discovery': [
    paths('/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/'),
  ],
  'system:node-proxier': [rule(['list', 'watch'], '', 'endpoints services nodes')],
  'system:monitoring': [paths('/healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*')],
};

const ordinaryResources =
  'configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale serviceaccounts services';
const workloads =
  'daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale';
const jobs = 'cronjobs jobs';
const podConnections = 'pods/attach pods/exec pods/portforward pods/proxy';

/** The parts that admin, edit and view aggregate. */
const roleParts: Readonly<Record<string, readonly RbacRule[]>> = {
  view: [
    rule(
      readVerbs,
      '',
      `${ordinaryResources} endpoints pods bindings limitranges namespaces namespaces/status pods/log pods/status ` +
        'resourcequotas services/status',
    ),
    rule(readVerbs, 'apps', `${workloads} daemonsets/status deployments/status replicasets/status statefulsets/status`),
    rule(readVerbs, 'batch', `${jobs} cronjobs/status jobs/status`),
    rule(readVerbs, 'events.k8s.io', 'events'),
  ],
  edit: [
    rule(readVerbs, '', `${podConnections} secrets services/proxy`),
    rule(['impersonate'], '', 'serviceaccounts'),
    rule(writeVerbs, '', `pods ${podConnections}`),
    rule(['create'], '', 'pods/eviction'),
    rule(writeVerbs, '', `${ordinaryResources} secrets services/proxy`),
    rule(['create'], '', 'serviceaccounts/token'),
    rule(writeVerbs, 'apps', `${workloads} deployments/rollback`),
    rule(writeVerbs, 'batch', jobs),
    rule([...writeVerbs, ...readVerbs], 'coordination.k8s.io', 'leases'),
  ],
  admin: [
    rule(['create'], 'authorization.k8s.io', 'localsubjectaccessreviews'),
    rule([...writeVerbs, ...readVerbs], 'rbac.authorization.k8s.io', 'roles rolebindings'),
  ],
};

const aggregatedRoles: Readonly<Record<string, readonly string[]>> = {
  view: ['view'],
  edit: ['edit'],
  admin: ['admin'],
};

const bindings: Readonly<Record<string, readonly string[]>> = {
  'cluster-admin': ['system:masters'],
  'system:discovery': ['system:authenticated'],
  'system:basic-user': ['system:authenticated'],
  'system:public-info-viewer': ['system:authenticated', 'system:unauthenticated'],
  'system:service-account-issuer-discovery': ['system:serviceaccounts'],
  'system:monitoring': ['system:monitoring'],
};
