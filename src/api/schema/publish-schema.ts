import { z } from 'zod';
import { maxLabelLength } from '../names.ts';

const namespaceSchema = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
  .max(63);

/** More than a selector needs. */
const maxPublishedLabels = 32;

const labelsSchema = z
  .record(
    z
      .string()
      .regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/)
      .max(316),
    z
      .string()
      .regex(/^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/)
      .max(maxLabelLength),
  )
  .refine((labels) => Object.keys(labels).length <= maxPublishedLabels, {
    message: `more than ${maxPublishedLabels} labels`,
  })
  .default({})
  .describe('Additional labels of the published objects. Default: none.');

/** What every form needs to know. */
const formFields = (consumer: string) => ({
  namespace: namespaceSchema.describe(
    `Existing namespace of the platform cluster in which ${consumer} looks. Not that of the provider.`,
  ),
  clusterRole: z
    .string()
    .regex(/^[^\s/%]+$/)
    .max(253)
    .describe(
      `Name of a ClusterRole of the published clusters, for example view. It is all that ${consumer} may do in them.`,
    ),
  labels: labelsSchema,
});

const KubeconfigSecret = z
  .strictObject(formFields('the consumer'))
  .describe(
    'A Secret with a kubeconfig for each cluster, as controllers with the Kubeconfig provider of multicluster-runtime read it. Default: none.',
  );

const InventoryProfile = z
  .strictObject({
    ...formFields('the consumer'),
    clusterManager: z
      .string()
      .regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/)
      .max(maxLabelLength)
      .optional()
      .describe('Value of spec.clusterManager.name. Default: the value of --provider-name.'),
    accessProvider: z
      .string()
      .regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/)
      .max(253)
      .default('kubeconfig-secretreader')
      .describe(
        'Name of the access provider, by which consumers find their credential plug-in. Default: kubeconfig-secretreader.',
      ),
    clusterSet: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/)
      .max(127)
      .optional()
      .describe(
        'Name of the ClusterSet of the clusters. With it, each cluster gets the two ClusterProperties of its membership, and needs their CustomResourceDefinition. Default: none.',
      ),
  })
  .describe(
    'A ClusterProfile of multicluster.x-k8s.io for each cluster, and a Secret that its credential plug-in reads. Default: none.',
  );

const ArgoCd = z
  .strictObject(formFields('Argo CD'))
  .describe('A cluster Secret of Argo CD for each cluster. Default: none.');

/** How other controllers find the clusters, and what these may do in them. */
export const PublishSchema = z
  .strictObject({
    clusters: z
      .enum(['All', 'Selected'])
      .default('All')
      .describe(
        'All: the Clusters whose ClusterConfigs do not set publish.enabled to false. Selected: those whose ClusterConfigs set it to true. Default: All.',
      ),
    kubeconfigSecret: KubeconfigSecret.optional(),
    clusterProfile: InventoryProfile.optional(),
    argoCD: ArgoCd.optional(),
  })
  .describe(
    'Publication of the clusters for other controllers, each form with an account of its own in each cluster. Default: none.',
  );
export type PublishSpec = z.infer<typeof PublishSchema>;

/** The owner of a cluster decides whether it is published, and the platform team where and with which rights. */
export const ClusterPublishSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .optional()
      .describe(
        'Whether the Cluster is published as spec.publish of its ProviderConfig says. Default: what publish.clusters says there.',
      ),
  })
  .describe('Publication of the Cluster for other controllers.');
