import { z } from 'zod';
import { celValidation, listMapBy, listSet } from './spec-fields.ts';

const createdOnce =
  'Control planes create missing objects; existing objects are only changed by the next upgrade of Kubernetes.';

/** Without user name and password, which everyone who can read the ProviderConfig could use. */
const manifestUrlSchema = z
  .string()
  .regex(/^https?:\/\/[^\s@]+$/)
  .max(1024);

const cniNames = ['Flannel', 'None', 'Custom'] as const;

export const CniSchema = z
  .strictObject({
    name: z
      .enum(cniNames)
      .default('Flannel')
      .meta(
        celValidation(
          'self == oldSelf',
          'network.cni.name cannot be changed, running clusters depend on it: create a new ProviderConfig instead',
        ),
      )
      .describe(
        'Flannel: Talos installs it. Custom: nodes install the manifests of urls. None: you install a CNI; nodes are not ready before. Immutable. Default: Flannel.',
      ),
    urls: z
      .array(manifestUrlSchema)
      .max(8)
      .default([])
      .meta(listSet)
      .describe(`With name Custom: URLs of manifests. ${createdOnce} Default: none.`),
  })
  .prefault({})
  .meta({
    'x-kubernetes-validations': [
      {
        // The API server evaluates it on the default of this object as well, which has no fields.
        rule: "(has(self.name) && self.name == 'Custom') == (has(self.urls) && size(self.urls) > 0)",
        message: 'network.cni.urls is required with name Custom, and must be omitted with any other name',
      },
    ],
  })
  .describe('The network of Pods (CNI). Recipes for Cilium and Calico: docs/networks.md.');

export const kubeProxySchema = z
  .boolean()
  .default(true)
  .meta(
    celValidation(
      'self == oldSelf',
      'network.kubeProxy cannot be changed, running clusters depend on it: create a new ProviderConfig instead',
    ),
  )
  .describe(
    'Whether clusters have kube-proxy. false: the CNI must replace it, as Cilium can. Immutable. Default: true.',
  );

export const KubeSpanSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        'Whether the traffic between the nodes of a cluster is encrypted by WireGuard, also across networks. Needs talos.discovery. Default: false.',
      ),
  })
  .prefault({})
  .describe('KubeSpan, the mesh of Talos between the nodes of a cluster.');

/** Characters of one manifest, and of all. They are a part of the configuration of each control plane. */
const inlineLimits = { manifests: 16, characters: 131_072 } as const;

export const extraManifestsSchema = z
  .array(manifestUrlSchema)
  .max(32)
  .default([])
  .meta(listSet)
  .describe(`URLs of manifests for each cluster. ${createdOnce} Default: none.`);

export const inlineManifestsSchema = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
        .max(63)
        .describe('Name of the manifest, unique in the list.'),
      contents: z
        .string()
        .min(1)
        .max(inlineLimits.characters)
        .describe(
          'YAML documents, each with a Kubernetes object. Must not contain secrets: everyone who can read the ProviderConfig can read them.',
        ),
    }),
  )
  .max(inlineLimits.manifests)
  .default([])
  .meta(listMapBy('name'))
  .describe(`Manifests for each cluster. ${createdOnce} Default: none.`);

export const ExternalCloudProviderSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .meta(
        celValidation(
          'self == oldSelf',
          'kubernetes.externalCloudProvider.enabled cannot be changed, the provider id of a Node is set once: create a new ProviderConfig instead',
        ),
      )
      .describe(
        'Whether a cloud controller manager that you install initializes the Nodes: it sets their provider ids and the labels of instance type, region and zone, and removes the taint node.cloudprovider.kubernetes.io/uninitialized, before which no ordinary Pod runs. cluster-autoscaler cannot use such clusters. Immutable. Default: false.',
      ),
  })
  .prefault({})
  .describe('A cloud controller manager of others. Without it the provider itself sets provider ids and labels.');

export const regionSchema = z
  .string()
  .max(63)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/)
  .optional()
  .describe(
    'Region of the nodes, which they have as the label topology.kubernetes.io/region. Default: that of the machine, where the platform knows it; else none.',
  );
