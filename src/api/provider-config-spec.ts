import { z } from 'zod';
import { platforms } from '../platforms/index.ts';
import { BackupSchema } from './schema/backup-schema.ts';
import {
  CniSchema,
  ExternalCloudProviderSchema,
  extraManifestsSchema,
  inlineManifestsSchema,
  KubeSpanSchema,
  kubeProxySchema,
  regionSchema,
} from './schema/cluster-network-schema.ts';
import { ProxySchema, RegistriesSchema } from './schema/egress-schema.ts';
import {
  exactlyOneSectionRule,
  findOnlySection,
  optionalSections,
  type PlatformSection,
} from './schema/platform-sections.ts';
import { PublishSchema } from './schema/publish-schema.ts';
import { RemediationSchema } from './schema/remediation-schema.ts';
import { RolloutSchema } from './schema/rollout-schema.ts';
import {
  celValidation,
  controlPlaneReplicasSchema,
  listMapBy,
  listSet,
  nodeLabelsSchema,
  nodeSizeSchema,
  oddReplicasRule,
  patchesSchema,
  replicaLimitsRule,
  requiredWhenRule,
  taintsSchema,
  workerPoolNameSchema,
  workerReplicasSchema,
} from './schema/spec-fields.ts';

/** All nodes of a cluster must agree on these fields, and new nodes get them from here. */
const immutableRule = (field: string) =>
  celValidation(
    'self == oldSelf',
    `${field} cannot be changed, running clusters depend on it: create a new ProviderConfig instead`,
  );

const versionSchema = z
  .string()
  .regex(/^[0-9]+\.[0-9]+\.[0-9]+$/)
  .max(20);
const hostSchema = z.string().min(1).max(253);
const cidrSchema = z
  .string()
  .regex(/^[0-9a-fA-F.:]+\/[0-9]{1,3}$/)
  .max(49);
const ipAddressSchema = z
  .string()
  .regex(/^[0-9a-fA-F.:]+$/)
  .max(45);

const Talos = z
  .strictObject({
    version: versionSchema.describe(
      'Talos version, without a leading v, e.g. 1.13.9. Supported: 1.12 to 1.14. Running nodes are upgraded to it.',
    ),
    factoryUrl: z
      .string()
      .regex(/^https?:\/\/[^\s]+$/)
      .max(512)
      .default('https://factory.talos.dev')
      .describe(
        'Base URL of the image factory for boot images and installers. With http, images can be modified in transit; bare-metal servers then require the checksum of the image in the platform section. Default: the public image factory, over https.',
      ),
    extensions: z
      .array(
        z
          .string()
          .regex(/^[a-z0-9.-]+\/[a-z0-9.-]+$/)
          .max(128),
      )
      .max(50)
      .default([])
      .meta(listSet)
      .describe('Official system extensions of the image, e.g. siderolabs/iscsi-tools. Default: none.'),
    kernelArguments: z
      .array(z.string().min(1).max(1024))
      .max(50)
      .default([])
      .describe('Additional kernel arguments. A leading - removes a default argument. Default: none.'),
    discovery: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .describe('Whether nodes find each other through the discovery service. Default: true.'),
        endpoint: z
          .string()
          .regex(/^https?:\/\/[^\s]+$/)
          .max(512)
          .optional()
          .describe('URL of the discovery service. Default: the public service of Talos.'),
      })
      .prefault({})
      .describe(
        'Use of the Talos discovery service. The service only stores data encrypted with a key of the cluster.',
      ),
    registries: RegistriesSchema,
    proxy: ProxySchema,
    patches: patchesSchema('every node'),
  })
  .describe('The operating system of the nodes.');

const OfferedVersion = z.strictObject({
  version: versionSchema.describe('Kubernetes version, without a leading v, e.g. 1.35.4.'),
  deprecated: z
    .boolean()
    .default(false)
    .describe('Whether the version is offered only on request, and not chosen by default. Default: false.'),
});

const Kubernetes = z
  .strictObject({
    versions: z
      .array(OfferedVersion)
      .min(1)
      .max(50)
      .meta(listMapBy('version'))
      .describe(
        'Versions that Clusters can request. A Cluster without a version gets the newest one that is not deprecated.',
      ),
    extraManifests: extraManifestsSchema,
    inlineManifests: inlineManifestsSchema,
    externalCloudProvider: ExternalCloudProviderSchema,
  })
  .describe('Kubernetes versions offered to Clusters, and what each cluster begins with.');

const ControlPlane = z
  .strictObject({
    replicas: controlPlaneReplicasSchema
      .default(3)
      .meta(oddReplicasRule)
      .describe('Number of control-plane nodes: 1, 3 or 5. Default: 3.'),
    size: nodeSizeSchema,
    endpoint: hostSchema
      .regex(/^[A-Za-z0-9.:[\]-]+$/)
      .optional()
      .describe(
        'Host name or address of the API server, with an optional port (default 6443). It must route to the control planes. If set, only one Cluster at a time can use this ProviderConfig. Default: a virtual address of network.addressPool that a control plane holds.',
      ),
    schedulable: z
      .boolean()
      .default(false)
      .describe(
        'Whether ordinary workloads may run on control planes. Default: false, but true when there are no worker pools.',
      ),
    patches: patchesSchema('control-plane nodes'),
  })
  .describe('The control-plane nodes of each cluster.');

const WorkerPool = z
  .strictObject({
    name: workerPoolNameSchema,
    replicas: workerReplicasSchema.describe(
      'Number of nodes in each cluster. With minReplicas or maxReplicas only the number to begin with.',
    ),
    minReplicas: workerReplicasSchema
      .optional()
      .describe(
        'Smallest number of nodes that the NodePool of a cluster can be scaled to. Default: replicas; without maxReplicas too, a NodePool cannot be scaled.',
      ),
    maxReplicas: workerReplicasSchema
      .optional()
      .describe(
        'Largest number of nodes that the NodePool of a cluster can be scaled to. Default: replicas; without minReplicas too, a NodePool cannot be scaled.',
      ),
    size: nodeSizeSchema,
    labels: nodeLabelsSchema.default({}).describe('Labels of the Kubernetes nodes. Default: none.'),
    taints: taintsSchema.default([]).describe('Taints that the nodes register with. Default: none.'),
    patches: patchesSchema('the nodes of this pool'),
  })
  .meta({ 'x-kubernetes-validations': [replicaLimitsRule] });

const Network = z
  .strictObject({
    podSubnets: z
      .array(cidrSchema)
      .min(1)
      .max(2)
      .default(['10.244.0.0/16'])
      .meta(immutableRule('network.podSubnets'))
      .describe('Ranges for Pods. Immutable. Default: 10.244.0.0/16.'),
    serviceSubnets: z
      .array(cidrSchema)
      .min(1)
      .max(2)
      .default(['10.96.0.0/12'])
      .meta(immutableRule('network.serviceSubnets'))
      .describe('Ranges for Services. Immutable. Default: 10.96.0.0/12.'),
    dnsDomain: z
      .string()
      .regex(/^[a-z0-9.-]+$/)
      .max(253)
      .default('cluster.local')
      .meta(immutableRule('network.dnsDomain'))
      .describe('DNS domain inside the clusters. Immutable. Default: cluster.local.'),
    addressPool: z
      .array(
        z
          .string()
          .regex(/^[0-9A-Fa-f.:]+(-[0-9A-Fa-f.:]+)?$/)
          .max(79),
      )
      .min(1)
      .max(32)
      .optional()
      .describe(
        'Addresses for nodes and virtual addresses: single addresses, or ranges like 192.168.10.20-192.168.10.60. They must not be in use elsewhere. Each cluster takes one for each node and one for its endpoint. All are IPv4, or all are IPv6 for clusters of IPv6 alone. On platforms whose nodes have addresses of their own: IPv4 addresses of the private network, if any.',
      ),
    addressAssignment: z
      .enum(['Static', 'DHCP'])
      .default('Static')
      .describe(
        'Assignment of addresses to nodes. Static: in the machine configuration. DHCP: by a DHCP server with a reservation for the MAC address of the first network card; the command reservations prints the reservations. Applies to new nodes. On platforms whose nodes have addresses of their own: only Static. Default: Static.',
      ),
    prefix: z
      .int()
      .min(8)
      .max(126)
      .optional()
      .describe('Prefix length of the subnet of addressPool, e.g. 24. At most 30 for IPv4.'),
    gateway: ipAddressSchema
      .optional()
      .describe(
        'Default gateway of the nodes, inside their subnet and outside addressPool; with IPv6 also a link-local address such as fe80::1. Omit it with DHCP, and on platforms whose nodes have addresses of their own.',
      ),
    ipv6: z
      .strictObject({
        subnet: cidrSchema
          .meta(immutableRule('network.ipv6.subnet'))
          .describe(
            'Subnet of the nodes, with a prefix length up to 96, e.g. fd00:10::/64. The address of a node is the first address of the subnet plus its IPv4 address as a number: with 192.168.10.21 it is fd00:10::c0a8:a15. Immutable.',
          ),
        gateway: ipAddressSchema
          .optional()
          .describe(
            'Default gateway, in the subnet or a link-local address such as fe80::1. Default: router advertisements, if there are any.',
          ),
      })
      .optional()
      .describe(
        'IPv6 addresses of the nodes, in addition to those of addressPool. Required for IPv6 ranges of Pods and Services, except on platforms whose nodes have IPv6 addresses of their own. Default: none.',
      ),
    nameServers: z
      .array(ipAddressSchema)
      .min(1)
      .max(8)
      .optional()
      .describe('DNS servers of the nodes. Optional with DHCP. Default with DHCP: the servers announced by DHCP.'),
    timeServers: z
      .array(hostSchema)
      .max(8)
      .default([])
      .describe('NTP servers of the nodes. Default: time.cloudflare.com, the default of Talos.'),
    cni: CniSchema,
    kubeProxy: kubeProxySchema,
    kubeSpan: KubeSpanSchema,
    region: regionSchema,
  })
  .describe('The network of the nodes.');

const OidcIssuer = z.strictObject({
  issuer: z
    .string()
    .regex(/^https:\/\/[^\s]+$/)
    .max(512)
    .describe('URL of the issuer, equal to spec.oidc.issuer of the AccessRequests.'),
  caBundle: z
    .string()
    .min(1)
    .max(65536)
    .describe('PEM bundle of the CA certificates of the issuer. Only these are trusted for the issuer.'),
});

const Access = z
  .strictObject({
    oidcIssuers: z
      .array(OidcIssuer)
      .max(32)
      .default([])
      .meta(listMapBy('issuer'))
      .describe(
        'OIDC issuers with certificates of a private CA. Before Talos 1.14, nodes get the CA at creation: entries added later apply to new Clusters. Default: none.',
      ),
  })
  .prefault({})
  .describe('Settings for access to the clusters.');

/** For platforms whose nodes have no other addresses. The rules of other platforms follow from their section. */
function addressPoolRules() {
  const pooled = platforms
    .filter((platform) => platform.network.alwaysNeedsPool)
    .map((platform) => `has(self.${platform.name})`);
  if (pooled.length === 0) return [];
  const where = pooled.join(' || ');
  return [
    ...['addressPool', 'prefix'].map((field) => requiredWhenRule(where, `network.${field}`)),
    requiredWhenRule(`(${where}) && !${usesDhcp}`, 'network.gateway'),
    {
      rule: `!${usesDhcp} || !has(self.network.gateway)`,
      message: 'network.gateway must be omitted with addressAssignment DHCP: the DHCP server announces the gateway',
      fieldPath: '.network.gateway',
    },
    {
      rule: `!${usesDhcp} || ${where}`,
      message: 'network.addressAssignment DHCP needs a platform whose nodes get their addresses from the pool: omit it',
      fieldPath: '.network.addressAssignment',
    },
  ];
}

const usesDhcp = "(has(self.network.addressAssignment) && self.network.addressAssignment == 'DHCP')";

const platformNames = platforms.map((platform) => platform.name);

/** Their nodes have name servers already. */
const externalPlatforms = platforms.filter(({ isExternal }) => isExternal).map(({ name }) => name);

const Spec = z
  .strictObject({
    providerRef: z
      .strictObject({
        name: z.string().min(1).max(63).describe('Value of --provider-name of the provider instance.'),
      })
      .meta(celValidation('self == oldSelf', 'providerRef cannot be changed: create a new ProviderConfig instead'))
      .describe('Provider instance that reconciles the ProviderConfig. Immutable.'),
    talos: Talos,
    kubernetes: Kubernetes,
    controlPlane: ControlPlane,
    workerPools: z
      .array(WorkerPool)
      .max(20)
      .default([])
      .meta(listMapBy('name'))
      .describe('Pools of worker nodes. Default: none.'),
    network: Network,
    access: Access,
    rollout: RolloutSchema,
    remediation: RemediationSchema,
    backup: BackupSchema.optional(),
    publish: PublishSchema.optional(),
    ...optionalSections(platforms.map(({ name, config }) => [name, config.schema])),
  })
  .meta({
    'x-kubernetes-validations': [
      exactlyOneSectionRule(platformNames),
      ...addressPoolRules(),
      requiredWhenRule(
        [`!${usesDhcp}`, ...externalPlatforms.map((name) => `!has(self.${name})`)].join(' && '),
        'network.nameServers',
      ),
      {
        rule: '!self.kubernetes.externalCloudProvider.enabled || !has(self.network.region)',
        message:
          'network.region must be omitted with kubernetes.externalCloudProvider: the cloud controller manager sets it',
        fieldPath: '.network.region',
      },
      ...platforms.flatMap((platform) => platform.config.specRules),
    ],
  });

/** The spec as users write it, with defaults filled in. Each platform parses its own section. */
export const ProviderConfigSpec = Spec;
export type ProviderConfigSpec = z.infer<typeof Spec>;
export type WorkerPool = z.infer<typeof WorkerPool>;
export type NetworkSpec = z.infer<typeof Network>;

/** The platform whose section is given, with the raw section; undefined when there is none or more than one. */
export const findPlatformSection = (spec: ProviderConfigSpec): PlatformSection | undefined =>
  findOnlySection(platformNames, spec);
