import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { fleetName, publicationId } from '../../api/names.ts';
import type { PublishSpec } from '../../api/schema/publish-schema.ts';

/** The sections of `spec.publish`, in the order in which they are reported. */
export const publicationForms = ['kubeconfigSecret', 'clusterProfile', 'argoCD'] as const;
export type PublicationForm = (typeof publicationForms)[number];

/** What only ClusterProfiles have. */
export interface InventoryOptions {
  readonly clusterManager: string;
  readonly accessProvider: string;
  readonly clusterSet: string | undefined;
}

/** One form in which one Cluster is published. */
export interface Publication {
  readonly form: PublicationForm;
  readonly cluster: ClusterIdentity;
  /** Of the ServiceAccount in the cluster, and the label of its objects. */
  readonly id: string;
  readonly namespace: string;
  readonly clusterRole: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly inventory?: InventoryOptions;
}

/** Where a form of a Cluster is, or was: enough to withdraw it. */
export interface PublicationPlace {
  readonly form: PublicationForm;
  readonly namespace: string;
}

/** The instance and the Cluster that is published. */
interface PublishedCluster {
  readonly environment: string;
  readonly provider: string;
  readonly cluster: ClusterIdentity;
}

/** The forms that a spec asks for. */
export function describePublications(
  spec: PublishSpec,
  { environment, provider, cluster }: PublishedCluster,
): Publication[] {
  return publicationForms.flatMap((form): Publication[] => {
    const section = spec[form];
    if (!section) return [];
    const { namespace, clusterRole, labels } = section;
    const id = publicationId(environment, provider, cluster, form);
    return [{ form, cluster, id, namespace, clusterRole, labels, ...describeInventory(form, spec, provider) }];
  });
}

function describeInventory(
  form: PublicationForm,
  { clusterProfile: section }: PublishSpec,
  provider: string,
): Pick<Publication, 'inventory'> {
  if (form !== 'clusterProfile' || !section) return {};
  const { clusterManager = provider, accessProvider, clusterSet } = section;
  return { inventory: { clusterManager, accessProvider, clusterSet } };
}

/** Forms of one Cluster may share a namespace. The Secret of a kubeconfig names the cluster for its consumers. */
const secretSuffixes: Readonly<Record<PublicationForm, string>> = {
  kubeconfigSecret: '',
  clusterProfile: '-profile',
  argoCD: '-argocd',
};

export const publishedSecretName = (form: PublicationForm, cluster: ClusterIdentity): string =>
  `${fleetName(cluster)}${secretSuffixes[form]}`;

export const isSamePlace = (one: PublicationPlace, other: PublicationPlace): boolean =>
  one.form === other.form && one.namespace === other.namespace;
