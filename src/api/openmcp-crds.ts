import { CustomResourceDefinition } from '../kube/core-types.ts';
import { apiVersionOf } from '../kube/resource.ts';
import { openmcp, openmcpGroup } from './names.ts';
import {
  described,
  flag,
  list,
  localReference,
  object,
  oneOf,
  reference,
  rules,
  type Schema,
  status,
  subdomain,
  text,
} from './openmcp-schema.ts';

/**
 * CRDs of the openMCP kinds that a cluster provider uses, written from the contract in our own words. They accept and reject
 * the same objects as the operator's CRDs (`test/world/operator/crds.test.ts` compares). `init --with-openmcp-crds` installs
 * those that are missing; existing ones are never changed.
 */
export const openmcpCrds: readonly CustomResourceDefinition[] = [
  crd({
    kind: 'ClusterProfile',
    description:
      'A kind of cluster that can be asked for. Made by a cluster provider, one for each of its configurations.',
    scope: 'Cluster',
    shortNames: ['cprof', 'profile'],
    columns: [
      ['Provider', '.spec.providerRef.name'],
      ['Config', '.spec.providerConfigRef.name'],
    ],
    selectable: ['.spec.providerRef.name', '.spec.providerConfigRef.name'],
    properties: {
      spec: object({
        'providerRef!': described('The cluster provider that serves it.', localReference),
        'providerConfigRef!': described('The configuration of that provider.', localReference),
        'supportedVersions!': described(
          'Kubernetes versions that a Cluster may ask for.',
          list(object({ 'version!': text({ minLength: 5 }), deprecated: flag })),
        ),
      }),
    },
  }),
  crd({
    kind: 'Cluster',
    description:
      'A Kubernetes cluster. Asked for by a profile; the cluster provider whose profile it is makes it and says how it stands.',
    scope: 'Namespaced',
    columns: [
      ['Purposes', '.spec.purposes'],
      ['Phase', '.status.phase'],
      ['Version', '.metadata.labels.clusters\\.openmcp\\.cloud/k8sversion'],
      ['Provider', '.metadata.labels.clusters\\.openmcp\\.cloud/provider'],
      ['Profile', '.spec.profile', 'wide'],
      ['Info', '.metadata.annotations.clusters\\.openmcp\\.cloud/providerinfo', 'wide'],
      ['Age', '.metadata.creationTimestamp'],
    ],
    selectable: ['.spec.profile'],
    properties: {
      spec: object({
        'profile!': described(
          'Name of the ClusterProfile. Immutable.',
          text(rules(['self == oldSelf', 'profile is immutable'])),
        ),
        'tenancy!': described('Whether it is for one user or for several.', oneOf('Exclusive', 'Shared')),
        purposes: described('What it may be used for.', list(text(), { minItems: 1 })),
        kubernetes: described('The Kubernetes version. Default: chosen by the provider.', object({ version: text() })),
        clusterConfigs: described(
          'Objects of the provider, in the same namespace, with what is different for this Cluster.',
          list(localReference),
        ),
      }),
      status: status({
        apiServer: described('URL of the API server; replaced by endpoints.', text()),
        endpoints: described('Where its API server is reached.', list(object({ 'name!': text(), 'url!': text() }))),
        providerStatus: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      }),
    },
  }),
  crd({
    kind: 'ClusterRequest',
    description: 'A wish for a cluster of some purpose. The openMCP operator finds or makes a Cluster for it.',
    scope: 'Namespaced',
    shortNames: ['cr', 'creq'],
    columns: [
      ['Purpose', '.spec.purpose'],
      ['Phase', '.status.phase'],
      ['Cluster', '.status.cluster.name'],
      ['Cluster-NS', '.status.cluster.namespace'],
    ],
    selectable: ['.spec.purpose', '.status.phase'],
    properties: {
      spec: object(
        { 'purpose!': text({ minLength: 1 }), waitForClusterDeletion: flag },
        rules(['self == oldSelf', 'spec is immutable']),
      ),
      status: status(
        { cluster: reference(rules(['self == oldSelf', 'cluster is immutable'])) },
        rules(['!has(oldSelf.cluster) || has(self.cluster)', 'cluster may not be removed once set']),
      ),
    },
  }),
  crd({
    kind: 'AccessRequest',
    description:
      'A wish for access to a cluster: a token with roles, or trust in an OIDC issuer. The cluster provider writes a kubeconfig into a Secret beside it.',
    scope: 'Namespaced',
    shortNames: ['ar', 'areq'],
    columns: [['Phase', '.status.phase']],
    selectable: ['.status.phase'],
    properties: {
      spec: accessSpec(),
      status: status({ secretRef: described('The Secret with the kubeconfig.', localReference) }),
    },
  }),
];

function accessSpec(): Schema {
  const immutable = (name: string) => rules(['self == oldSelf', `${name} is immutable`]);
  const kept = (name: string) =>
    [`!has(oldSelf.${name}) || has(self.${name})`, `${name} may not be removed once set`] as const;
  const words = list(text(), { 'x-kubernetes-list-type': 'atomic' });
  const policyRule = object({
    apiGroups: words,
    resources: words,
    resourceNames: words,
    nonResourceURLs: words,
    'verbs!': words,
  });
  const permission = object({
    name: text(),
    namespace: text(),
    disableAutomaticNamespaceCreation: flag,
    'rules!': list(policyRule),
  });
  const roleRef = object({ 'kind!': oneOf('Role', 'ClusterRole'), 'name!': text({ minLength: 1 }), namespace: text() });
  const subject = object(
    { 'kind!': text(), 'name!': text(), apiGroup: text(), namespace: text() },
    { 'x-kubernetes-map-type': 'atomic' },
  );
  return object(
    {
      clusterRef: described('The Cluster. Immutable.', reference(immutable('clusterRef'))),
      requestRef: described(
        'A ClusterRequest whose Cluster it is about. Immutable.',
        reference(immutable('requestRef')),
      ),
      token: described(
        'A ServiceAccount in the cluster: new roles, and roles that exist.',
        object({ permissions: list(permission), roleRefs: list(roleRef) }),
      ),
      oidc: described(
        'Trust in an OIDC issuer, and what its users may do.',
        object({
          'name!': text({
            minLength: 1,
            maxLength: 253,
            pattern: subdomain,
            ...rules(["self != 'system'", "the name 'system' is reserved"]),
          }),
          'issuer!': text({ minLength: 1, pattern: '^https?://[^\\s/$.?#].[^\\s]*$' }),
          'clientID!': text({ minLength: 1 }),
          groupsClaim: text({ default: 'groups' }),
          groupsPrefix: text(),
          usernameClaim: text({ default: 'sub' }),
          usernamePrefix: text(),
          extraScopes: list(text()),
          'roleBindings!': list(object({ 'subjects!': list(subject), 'roleRefs!': list(roleRef) })),
          roles: list(permission),
        }),
      ),
      ttl: described('How long it lasts, e.g. 24h. Default: as long as the object.', text()),
    },
    rules(kept('clusterRef'), kept('requestRef'), [
      'has(self.token) != has(self.oidc)',
      'exactly one of spec.token or spec.oidc must be set',
    ]),
  );
}

interface Kind {
  readonly kind: string;
  readonly description: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly shortNames?: readonly string[];
  readonly columns: readonly (readonly [name: string, jsonPath: string, width?: 'wide'])[];
  readonly selectable: readonly string[];
  readonly properties: { readonly spec: Schema; readonly status?: Schema };
}

function crd({
  kind,
  description,
  scope,
  shortNames,
  columns,
  selectable,
  properties,
}: Kind): CustomResourceDefinition {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  return {
    apiVersion: apiVersionOf(CustomResourceDefinition),
    kind: CustomResourceDefinition.kind,
    metadata: { name: `${plural}.${openmcpGroup}`, labels: { [openmcp.crdCluster]: 'platform' } },
    spec: {
      group: openmcpGroup,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular, ...(shortNames && { shortNames }) },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: object(
              { apiVersion: text(), kind: text(), metadata: { type: 'object' }, ...properties },
              { description },
            ),
          },
          subresources: properties.status ? { status: {} } : {},
          additionalPrinterColumns: columns.map(([name, jsonPath, width]) => ({
            name,
            type: name === 'Age' ? 'date' : 'string',
            jsonPath,
            ...(width && { priority: 10 }),
          })),
          selectableFields: selectable.map((jsonPath) => ({ jsonPath })),
        },
      ],
    },
  };
}

/** The kinds this provider reads and writes. ClusterRequests are served by the openMCP operator. */
export const neededOpenmcpCrds: readonly CustomResourceDefinition[] = openmcpCrds.filter(
  ({ metadata }) => metadata.name !== `clusterrequests.${openmcpGroup}`,
);
