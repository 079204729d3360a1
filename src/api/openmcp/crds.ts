import { CustomResourceDefinition } from '../../kube/core-types.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { openmcpGroup, openmcpKeys } from '../names.ts';
import {
  arraySchema,
  booleanSchema,
  dnsSubdomainPattern,
  enumSchema,
  localReferenceSchema,
  type OpenApiSchema,
  objectSchema,
  referenceSchema,
  statusSchema,
  stringSchema,
  withCelRules,
  withDescription,
} from './openapi-schema.ts';

/**
 * CRDs of the openMCP kinds that a cluster provider uses, written from the contract and not copied. They accept and
 * reject the same objects as the operator's CRDs (`test/simulators/operator/crds.test.ts` compares). `init
 * --with-openmcp-crds` installs missing CRDs and never changes existing ones.
 */
export const openmcpCrds: readonly CustomResourceDefinition[] = [
  buildOpenmcpCrd({
    kind: 'ClusterProfile',
    description:
      'ClusterProfile is a kind of cluster that can be requested. A cluster provider publishes one for each of its configurations.',
    scope: 'Cluster',
    shortNames: ['cprof', 'profile'],
    columns: [
      ['Provider', '.spec.providerRef.name'],
      ['Config', '.spec.providerConfigRef.name'],
    ],
    selectable: ['.spec.providerRef.name', '.spec.providerConfigRef.name'],
    properties: {
      spec: objectSchema({
        'providerRef!': withDescription('The cluster provider of the profile.', localReferenceSchema),
        'providerConfigRef!': withDescription('The configuration of the cluster provider.', localReferenceSchema),
        'supportedVersions!': withDescription(
          'Kubernetes versions that a Cluster can request.',
          arraySchema(objectSchema({ 'version!': stringSchema({ minLength: 5 }), deprecated: booleanSchema })),
        ),
      }),
    },
  }),
  buildOpenmcpCrd({
    kind: 'Cluster',
    description:
      'Cluster is a Kubernetes cluster. It references a profile; the cluster provider of the profile creates the cluster and reports its status.',
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
      spec: objectSchema({
        'profile!': withDescription(
          'Name of the ClusterProfile. Immutable.',
          stringSchema(withCelRules(['self == oldSelf', 'profile is immutable'])),
        ),
        'tenancy!': withDescription('Whether the cluster has one user or several.', enumSchema('Exclusive', 'Shared')),
        purposes: withDescription('Purposes of the cluster.', arraySchema(stringSchema(), { minItems: 1 })),
        kubernetes: withDescription(
          'Kubernetes version. Default: chosen by the provider.',
          objectSchema({ version: stringSchema() }),
        ),
        clusterConfigs: withDescription(
          'References to objects of the provider in the same namespace, with overrides for this Cluster.',
          arraySchema(localReferenceSchema),
        ),
      }),
      status: statusSchema({
        apiServer: withDescription('URL of the API server. Deprecated: use endpoints.', stringSchema()),
        endpoints: withDescription(
          'Endpoints of the API server.',
          arraySchema(objectSchema({ 'name!': stringSchema(), 'url!': stringSchema() })),
        ),
        providerStatus: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      }),
    },
  }),
  buildOpenmcpCrd({
    kind: 'ClusterRequest',
    description:
      'ClusterRequest requests a cluster for a purpose. The openMCP operator selects or creates a Cluster for it.',
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
      spec: objectSchema(
        { 'purpose!': stringSchema({ minLength: 1 }), waitForClusterDeletion: booleanSchema },
        withCelRules(['self == oldSelf', 'spec is immutable']),
      ),
      status: statusSchema(
        { cluster: referenceSchema(withCelRules(['self == oldSelf', 'cluster is immutable'])) },
        withCelRules(['!has(oldSelf.cluster) || has(self.cluster)', 'cluster may not be removed once set']),
      ),
    },
  }),
  buildOpenmcpCrd({
    kind: 'AccessRequest',
    description:
      'AccessRequest requests access to a cluster: a token with roles, or trust in an OIDC issuer. The cluster provider writes a kubeconfig into a Secret in the same namespace.',
    scope: 'Namespaced',
    shortNames: ['ar', 'areq'],
    columns: [['Phase', '.status.phase']],
    selectable: ['.status.phase'],
    properties: {
      spec: accessRequestSpecSchema(),
      status: statusSchema({ secretRef: withDescription('The Secret with the kubeconfig.', localReferenceSchema) }),
    },
  }),
];

function accessRequestSpecSchema(): OpenApiSchema {
  const immutable = (name: string) => withCelRules(['self == oldSelf', `${name} is immutable`]);
  const kept = (name: string) =>
    [`!has(oldSelf.${name}) || has(self.${name})`, `${name} may not be removed once set`] as const;
  const text = arraySchema(stringSchema(), { 'x-kubernetes-list-type': 'atomic' });
  const policyRule = objectSchema({
    apiGroups: text,
    resources: text,
    resourceNames: text,
    nonResourceURLs: text,
    'verbs!': text,
  });
  const permission = objectSchema({
    name: stringSchema(),
    namespace: stringSchema(),
    disableAutomaticNamespaceCreation: booleanSchema,
    'rules!': arraySchema(policyRule),
  });
  const roleRef = objectSchema({
    'kind!': enumSchema('Role', 'ClusterRole'),
    'name!': stringSchema({ minLength: 1 }),
    namespace: stringSchema(),
  });
  const subject = objectSchema(
    { 'kind!': stringSchema(), 'name!': stringSchema(), apiGroup: stringSchema(), namespace: stringSchema() },
    { 'x-kubernetes-map-type': 'atomic' },
  );
  return objectSchema(
    {
      clusterRef: withDescription('The Cluster. Immutable.', referenceSchema(immutable('clusterRef'))),
      requestRef: withDescription(
        'The ClusterRequest of the Cluster. Immutable.',
        referenceSchema(immutable('requestRef')),
      ),
      token: withDescription(
        'Access by a ServiceAccount in the cluster, with new and existing roles.',
        objectSchema({ permissions: arraySchema(permission), roleRefs: arraySchema(roleRef) }),
      ),
      oidc: withDescription(
        'Trust in an OIDC issuer, and the permissions of its users.',
        objectSchema({
          'name!': stringSchema({
            minLength: 1,
            maxLength: 253,
            pattern: dnsSubdomainPattern,
            ...withCelRules(["self != 'system'", "the name 'system' is reserved"]),
          }),
          'issuer!': stringSchema({ minLength: 1, pattern: '^https?://[^\\s/$.?#].[^\\s]*$' }),
          'clientID!': stringSchema({ minLength: 1 }),
          groupsClaim: stringSchema({ default: 'groups' }),
          groupsPrefix: stringSchema(),
          usernameClaim: stringSchema({ default: 'sub' }),
          usernamePrefix: stringSchema(),
          extraScopes: arraySchema(stringSchema()),
          'roleBindings!': arraySchema(
            objectSchema({ 'subjects!': arraySchema(subject), 'roleRefs!': arraySchema(roleRef) }),
          ),
          roles: arraySchema(permission),
        }),
      ),
      ttl: withDescription('Lifetime of the access, e.g. 24h. Default: until the object is deleted.', stringSchema()),
    },
    withCelRules(kept('clusterRef'), kept('requestRef'), [
      'has(self.token) != has(self.oidc)',
      'exactly one of spec.token or spec.oidc must be set',
    ]),
  );
}

interface OpenmcpCrdDefinition {
  readonly kind: string;
  readonly description: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly shortNames?: readonly string[];
  readonly columns: readonly (readonly [name: string, jsonPath: string, width?: 'wide'])[];
  readonly selectable: readonly string[];
  readonly properties: { readonly spec: OpenApiSchema; readonly status?: OpenApiSchema };
}

function buildOpenmcpCrd({
  kind,
  description,
  scope,
  shortNames,
  columns,
  selectable,
  properties,
}: OpenmcpCrdDefinition): CustomResourceDefinition {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  return {
    apiVersion: apiVersionOf(CustomResourceDefinition),
    kind: CustomResourceDefinition.kind,
    metadata: { name: `${plural}.${openmcpGroup}`, labels: { [openmcpKeys.crdCluster]: 'platform' } },
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
            openAPIV3Schema: objectSchema(
              { apiVersion: stringSchema(), kind: stringSchema(), metadata: { type: 'object' }, ...properties },
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

/** The kinds that this provider reads and writes. The openMCP operator reconciles ClusterRequests. */
export const requiredOpenmcpCrds: readonly CustomResourceDefinition[] = openmcpCrds.filter(
  ({ metadata }) => metadata.name !== `clusterrequests.${openmcpGroup}`,
);
