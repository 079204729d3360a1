import { z } from 'zod';
import { platforms } from '../platforms/index.ts';
import {
  exactlyOneSectionRule,
  findOnlySection,
  optionalSections,
  type PlatformSection,
} from './schema/platform-sections.ts';
import {
  celValidation,
  controlPlaneReplicasSchema,
  listMapBy,
  listSet,
  nodeLabelsSchema,
  nodeSizeSchema,
  oddReplicasRule,
  patchesSchema,
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
    version: versionSchema.describe('Talos version, without a leading v, e.g. 1.13.9. Supported: 1.12 to 1.14.'),
    factoryUrl: z
      .string()
      .regex(/^https?:\/\/[^\s]+$/)
      .max(512)
      .default('https://factory.talos.dev')
      .describe(
        'Base URL of the image factory that boot images and installers come from. Over plain http anyone on the network path can change them; bare servers are then written only with a checksum of the image in the platform section. Default: the public one, over https.',
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
      .describe('Official system extensions to bake in, e.g. siderolabs/iscsi-tools. Default: none.'),
    kernelArguments: z
      .array(z.string().min(1).max(1024))
      .max(50)
      .default([])
      .describe('Extra kernel arguments; a leading - removes a default one. Default: none.'),
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
          .describe('URL of a discovery service of your own. Default: that of Talos.'),
      })
      .prefault({})
      .describe('The Talos discovery service. What it stores is encrypted with a key of the cluster.'),
    patches: patchesSchema('every node'),
  })
  .describe('The operating system of the nodes.');

const OfferedVersion = z.strictObject({
  version: versionSchema.describe('Kubernetes version, without a leading v, e.g. 1.35.4.'),
  deprecated: z.boolean().default(false).describe('Still served, but not chosen for new clusters. Default: false.'),
});

const Kubernetes = z
  .strictObject({
    versions: z
      .array(OfferedVersion)
      .min(1)
      .max(50)
      .meta(listMapBy('version'))
      .describe(
        'The versions that Clusters may ask for. One that asks for none gets the newest that is not deprecated.',
      ),
  })
  .describe('What is offered to those who ask for clusters.');

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
        'Host name or address under which the API server is reached, with an optional port (default 6443). It must lead to the control planes. Default: a virtual address out of network.addressPool that the control planes hold themselves. With it set, one Cluster at a time can use this ProviderConfig.',
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

const WorkerPool = z.strictObject({
  name: workerPoolNameSchema,
  replicas: workerReplicasSchema.describe('Number of nodes in each cluster.'),
  size: nodeSizeSchema,
  labels: nodeLabelsSchema.default({}).describe('Labels of the Kubernetes nodes. Default: none.'),
  taints: taintsSchema.default([]).describe('Taints the Kubernetes nodes register with. Default: none.'),
  patches: patchesSchema('the nodes of this pool'),
});

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
          .regex(/^[0-9.]+(-[0-9.]+)?$/)
          .max(31),
      )
      .min(1)
      .max(32)
      .optional()
      .describe(
        'Addresses for nodes and virtual addresses: single ones or ranges like 192.168.10.20-192.168.10.60. Nobody else may use them. Each cluster takes one for each node and one for its endpoint. Where nodes have addresses of their own they are for the private network between them, if there is one.',
      ),
    addressAssignment: z
      .enum(['Static', 'DHCP'])
      .default('Static')
      .describe(
        'How nodes come by their address of the pool: by their configuration, or from a DHCP server that has it reserved for the MAC address of their first card. Those follow from the addresses: the command reservations prints them. Holds for nodes that are made afterwards. Where nodes have addresses of their own, only Static. Default: Static.',
      ),
    prefix: z
      .int()
      .min(8)
      .max(30)
      .optional()
      .describe('Prefix length of the subnet that addressPool lies in, in bits, e.g. 24.'),
    gateway: ipAddressSchema
      .optional()
      .describe(
        'Default gateway of the nodes. It lies in their subnet and outside of the pool. Left out where nodes have addresses of their own, or are told theirs by DHCP.',
      ),
    nameServers: z
      .array(ipAddressSchema)
      .min(1)
      .max(8)
      .optional()
      .describe(
        'DNS servers of the nodes. May be left out where nodes have their address by DHCP: what they are told.',
      ),
    timeServers: z
      .array(hostSchema)
      .max(8)
      .default([])
      .describe('NTP servers of the nodes. Default: that of Talos, time.cloudflare.com.'),
  })
  .describe('The network of the nodes.');

const OidcIssuer = z.strictObject({
  issuer: z
    .string()
    .regex(/^https:\/\/[^\s]+$/)
    .max(512)
    .describe('URL of the issuer, exactly as AccessRequests name it.'),
  caBundle: z
    .string()
    .min(1)
    .max(65536)
    .describe("PEM of the authorities that the issuer's certificate may come from, and no others."),
});

const Access = z
  .strictObject({
    oidcIssuers: z
      .array(OidcIssuer)
      .max(32)
      .default([])
      .meta(listMapBy('issuer'))
      .describe(
        'OIDC issuers whose certificates come from an authority that is not publicly known. Before Talos 1.14 nodes get it when they are made: an entry that is added later counts for new Clusters. Default: none.',
      ),
  })
  .prefault({})
  .describe('What access to the clusters may be based on.');

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
      message: 'network.gateway must be left out with addressAssignment DHCP: the DHCP server tells nodes theirs',
      fieldPath: '.network.gateway',
    },
    {
      rule: `!${usesDhcp} || ${where}`,
      message: 'network.addressAssignment DHCP is for nodes that get their address out of the pool: leave it out',
      fieldPath: '.network.addressAssignment',
    },
  ];
}

const usesDhcp = "(has(self.network.addressAssignment) && self.network.addressAssignment == 'DHCP')";

const platformNames = platforms.map((platform) => platform.name);

const Spec = z
  .strictObject({
    providerRef: z
      .strictObject({
        name: z.string().min(1).max(63).describe('The --provider-name of the instance that serves this.'),
      })
      .meta(celValidation('self == oldSelf', 'providerRef cannot be changed: create a new ProviderConfig instead'))
      .describe('The provider instance that this belongs to. Immutable.'),
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
    ...optionalSections(platforms.map(({ name, config }) => [name, config.schema])),
  })
  .meta({
    'x-kubernetes-validations': [
      exactlyOneSectionRule(platformNames),
      ...addressPoolRules(),
      requiredWhenRule(`!${usesDhcp}`, 'network.nameServers'),
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
