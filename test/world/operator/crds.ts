import { openmcp, openmcpGroup } from '../../../src/api/names.ts';
import { CustomResourceDefinition } from '../../../src/kube/core-types.ts';
import { apiVersionOf } from '../../../src/kube/resource.ts';
import {
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
} from './schema.ts';

/**
 * The openMCP kinds that a cluster provider meets, written from the contract in our own words. They accept and refuse
 * what the operator's own do (`crds.test.ts` compares), and stand in where those are not installed.
 */
export const openmcpCrds: readonly CustomResourceDefinition[] = [
  crd({
    kind: 'ClusterProfile',
    scope: 'Cluster',
    shortNames: ['cprof', 'profile'],
    columns: [
      ['Provider', '.spec.providerRef.name'],
      ['Config', '.spec.providerConfigRef.name'],
    ],
    selectable: ['.spec.providerRef.name', '.spec.providerConfigRef.name'],
    properties: {
      spec: object({
        'providerRef!': localReference,
        'providerConfigRef!': localReference,
        'supportedVersions!': list(object({ 'version!': text({ minLength: 5 }), deprecated: flag })),
      }),
    },
  }),
  crd({
    kind: 'Cluster',
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
        'profile!': text(rules(['self == oldSelf', 'profile is immutable'])),
        'tenancy!': oneOf('Exclusive', 'Shared'),
        purposes: list(text(), { minItems: 1 }),
        kubernetes: object({ version: text() }),
        clusterConfigs: list(localReference),
      }),
      status: status({
        apiServer: text(),
        endpoints: list(object({ 'name!': text(), 'url!': text() })),
        providerStatus: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      }),
    },
  }),
  crd({
    kind: 'ClusterRequest',
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
    scope: 'Namespaced',
    shortNames: ['ar', 'areq'],
    columns: [['Phase', '.status.phase']],
    selectable: ['.status.phase'],
    properties: {
      spec: accessSpec(),
      status: status({ secretRef: localReference }),
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
      clusterRef: reference(immutable('clusterRef')),
      requestRef: reference(immutable('requestRef')),
      token: object({ permissions: list(permission), roleRefs: list(roleRef) }),
      oidc: object({
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
      ttl: text(),
    },
    rules(kept('clusterRef'), kept('requestRef'), [
      'has(self.token) != has(self.oidc)',
      'exactly one of spec.token or spec.oidc must be set',
    ]),
  );
}

interface Kind {
  readonly kind: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly shortNames?: readonly string[];
  readonly columns: readonly (readonly [name: string, jsonPath: string, width?: 'wide'])[];
  readonly selectable: readonly string[];
  readonly properties: { readonly spec: Schema; readonly status?: Schema };
}

function crd({ kind, scope, shortNames, columns, selectable, properties }: Kind): CustomResourceDefinition {
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
            openAPIV3Schema: object({ apiVersion: text(), kind: text(), metadata: { type: 'object' }, ...properties }),
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
