import { hashNames, shortenName } from '../lib/hash.ts';

/** The provider's API group; finalizers, labels and annotations are prefixed with it. */
export const group = 'talos.clusters.openmcp.cloud';
export const version = 'v1alpha1';
/** The openMCP group of Cluster, ClusterProfile and AccessRequest. */
export const openmcpGroup = 'clusters.openmcp.cloud';

/** Kubernetes allows label values of up to 63 characters. */
export const maxLabelLength = 63;

/** The field manager of server-side apply. */
export const fieldManager = 'cluster-provider-talos';

/**
 * Finalizers that all instances share: the object itself, or the Machine that holds it, names the instance that may act
 * on it.
 */
export const finalizers = {
  machine: `${group}/machine`,
  host: `${group}/host`,
} as const;

/**
 * One running provider. Several can share an API server, even with the same name: in different environments, or by
 * mistake in different namespaces.
 */
export interface ProviderInstance {
  readonly environment: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** The provider's own namespace, which holds the secrets of its clusters. */
  readonly namespace: string;
}

/** Eight characters that identify an instance. Only platform teams choose the names that go into it. */
const instanceId = ({ environment, provider, namespace }: ProviderInstance): string =>
  hashNames(environment, provider, namespace);

/**
 * Finalizers of one instance on objects that do not name it otherwise. The instance's own finalizer proves that it has
 * reconciled the object; another instance's finalizer means that the other instance owns it.
 */
export function instanceFinalizers(instance: ProviderInstance) {
  const id = instanceId(instance);
  return {
    providerConfig: `${group}/providerconfig-${id}`,
    cluster: `${group}/cluster-${id}`,
    accessRequest: `${group}/access-${id}`,
    /** On a Cluster while something is published of it: its deletion waits until consumers have let go. */
    publication: `${group}/publication-${id}`,
  };
}

/** Any of {@link instanceFinalizers} or {@link finalizers}, of any instance. */
export const isProviderFinalizer = (name: string): boolean =>
  /^(providerconfig|cluster|access|publication)-[a-z2-7]{8}$|^(machine|host)$/.test(name.slice(group.length + 1)) &&
  name.startsWith(`${group}/`);

/** Whether another instance holds an object by its finalizer and this one, whose finalizer is `own`, does not. */
export function isHeldByOtherInstance(held: readonly string[] | undefined, own: string): boolean {
  const kind = own.slice(0, own.lastIndexOf('-') + 1);
  return !held?.includes(own) && (held ?? []).some((name) => name.startsWith(kind) && isProviderFinalizer(name));
}

/**
 * The Lease for leader election among the processes of one instance. The hash tells (`dev`, `eu-talos`) and (`dev-eu`,
 * `talos`) apart.
 */
export const leaseName = (environment: string, provider: string): string =>
  `${shortenName(`cluster-provider-talos-${environment}-${provider}`, 54)}-${hashNames(environment, provider)}`;

/**
 * The ConfigMap in the provider's own namespace that `import` writes: the identity of the former platform cluster, whose
 * marks its machines bear.
 */
export const installationName = 'cluster-provider-talos-installation';

export const labels = {
  /** The `--provider-name`, on every object that the provider creates on the platform cluster. */
  provider: `${group}/provider`,
  /** {@link clusterId} of the Cluster that an object belongs to, because names can be too long for a label. */
  cluster: `${group}/cluster`,
  role: `${group}/role`,
  pool: `${group}/pool`,
  /** On objects in target clusters: {@link accessRequestId} of the AccessRequest that they belong to. */
  access: `${group}/access`,
  /** Name and namespace of the AccessRequest as the openMCP peers write them, shortened to the length of a label. */
  managedByName: `${group}/managed-by-name`,
  managedByNamespace: `${group}/managed-by-namespace`,
  /** On Hosts created from an inventory: the ordered product and the server's location. */
  product: `${group}/product`,
  location: `${group}/location`,
  /** Marks a Lease as a claim on one address. */
  address: `${group}/address`,
  /** On the Secret with the disk key of a Machine: the name of the Machine. */
  diskKey: `${group}/disk-key`,
  /** On what is published of a Cluster for other controllers: the form. */
  published: `${group}/published`,
} as const;

/** On everything that `init` installs for all providers on the API server. Common tools display this label. */
export const managedByLabels = { 'app.kubernetes.io/managed-by': fieldManager } as const;

export const annotations = {
  clusterNamespace: `${group}/cluster-namespace`,
  clusterName: `${group}/cluster-name`,
  /** Besides the two above: a Cluster that is recreated under the same name has another UID. */
  clusterUid: `${group}/cluster-uid`,
  /** On the secrets of a cluster: the Machine that etcd is or was bootstrapped on. Written before the call. */
  bootstrapMachine: `${group}/bootstrap-machine`,
  /** On the secrets of a cluster: boot and state of the etcd service on that Machine right before the last call. */
  bootstrapRequest: `${group}/bootstrap-request`,
  /** On the secrets of a cluster: when etcd was observed with members after that call. */
  bootstrappedAt: `${group}/bootstrapped-at`,
  kubernetesVersion: `${group}/kubernetes-version`,
  /** On the secrets of a cluster: URL of the API server, when it is derived from the address of a control plane. */
  endpoint: `${group}/endpoint`,
  /** On a Cluster: prefix of its node names, instead of its own name. Stored on its secrets. */
  nodePrefix: `${group}/node-prefix`,
  talosVersion: `${group}/talos-version`,
  requestNamespace: `${group}/request-namespace`,
  requestName: `${group}/request-name`,
  /** Besides the two above: two requests with the same {@link accessRequestId} have separate objects. */
  requestUid: `${group}/request-uid`,
  /** On a granted Secret: hash of the server, certificate authority and account of its kubeconfig. */
  server: `${group}/server`,
  /** On a granted Secret: id of the key that signed its token. */
  signingKey: `${group}/signing-key`,
  /** On a published Secret: when its token was issued and expires. */
  tokenCreated: `${group}/token-created`,
  tokenExpires: `${group}/token-expires`,
  /** On a published Secret: hash of its data, which shows that others have changed it. */
  content: `${group}/content`,
  /**
   * On a Host, set by a user: inspect the server's hardware, which reboots it. Removed when the inspection has begun.
   */
  inspect: `${group}/inspect`,
  /** On a Host, set by a user: reboot the server. Removed when the reboot has begun. */
  reboot: `${group}/reboot`,
  /**
   * On a Machine, set by a user: approved repairs, as a comma-separated list of reasons. Removed when they are done.
   */
  approve: `${group}/approve`,
  /**
   * On a Machine, set by the provider, `true`: the only control plane of its cluster, which the API server refuses to
   * delete.
   */
  onlyControlPlane: `${group}/only-control-plane`,
  /** On a Cluster or ProviderConfig, set by a user: `pause`, `now` or `retry`. */
  rollout: `${group}/rollout`,
  /** On a Cluster, set by a user, `now`: take a backup. Removed when it was tried. */
  takeBackup: `${group}/take-backup`,
  /** On a Cluster, set by a user, `talos` or `kubernetes`: rotate that certificate authority. Removed when it has begun. */
  rotateCa: `${group}/rotate-ca`,
  /** On a Cluster, set by a user: key of the snapshot of a backup that etcd is restored from. Removed when that is done. */
  restore: `${group}/restore`,
  /** On a Cluster, set by a user: the Secret in the provider's own namespace with the identity that decrypts the backup. */
  restoreIdentity: `${group}/restore-identity`,
  /** On the secrets of a cluster: the progress of a restore, written before each step that cannot be repeated. */
  restoreProgress: `${group}/restore-progress`,
  /** On a Machine, set by a user, `true`: the first to be deleted when its pool gets fewer Machines. */
  deleteFirst: `${group}/delete-first`,
  /** On a Machine, set by a user: `restart` or `replace`, because its node is unhealthy. Removed when that has begun. */
  remediate: `${group}/remediate`,
  /** On a Machine, set by a user, `true`: leave it as it is, even when it is switched off. */
  maintenance: `${group}/maintenance`,
  /**
   * On the disk key and the address of a Machine, set by the provider: the system that the Machine is created on, as
   * its facts name it.
   */
  madeOn: `${group}/made-on`,
  /** On the disk key of a Machine, set by the provider: the storage that the key opens, comma-separated. */
  opens: `${group}/opens`,
  /** On a Machine that is being deleted, set by a user, `true`: its failure domain is permanently lost. */
  failureDomainLost: `${group}/failure-domain-lost`,
  /** On a Host, set by the provider: why only a user can decide how to continue. A user removes it to decide. */
  permanentError: `${group}/permanent-error`,
  /** On a Host, set by the provider: the address that is kept out of use together with its server. */
  retainedAddress: `${group}/retained-address`,
  /**
   * On a ProviderConfig, set by a user: names of Machines whose orphans are to be removed. Removed when the removal has
   * begun.
   */
  removeOrphans: `${group}/remove-orphans`,
} as const;

/** Labels and annotations of the openMCP contract that the provider reads or writes. */
export const openmcpKeys = {
  provider: `${openmcpGroup}/provider`,
  profile: `${openmcpGroup}/profile`,
  kubernetesVersion: `${openmcpGroup}/k8sversion`,
  providerInfo: `${openmcpGroup}/providerinfo`,
  operation: 'openmcp.cloud/operation',
  crdCluster: 'openmcp.cloud/cluster',
  /** Labels and annotations with this prefix are propagated to the objects that the provider creates. */
  metadataPrefix: 'metadata.open-control-plane.io/',
} as const;

interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** `<environment>.<provider>.<config>`: the scheme that the operator's static purpose mapping relies on. */
export const clusterProfileName = (environment: string, provider: string, config: string): string =>
  `${environment}.${provider}.${config}`;

/**
 * Eight characters that identify a Cluster where its namespace and name together are too long. For names and selection
 * only: `isSameCluster` decides whether something belongs to a Cluster.
 */
export const clusterId = (cluster: NamespacedName): string => hashNames(cluster.namespace, cluster.name);

/** Prefix of every name derived from a Cluster; `called` replaces the Cluster's own name. At most 39 characters. */
export const clusterPrefix = (cluster: NamespacedName, called = cluster.name): string =>
  `${called
    .slice(0, 30)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-$/, '')}-${clusterId(cluster)}`;

/** Name of the control plane pool. Worker pools must not use it. */
export const controlPlanePool = 'cp';

/**
 * A Machine is named after its slot, so that its name can always be computed. At most 63 characters (pool names have
 * 16).
 */
export const machineName = (cluster: NamespacedName, pool: string, slot: number, called?: string): string =>
  `${nodePoolName(cluster, pool, called)}-${slot}`;

/** A worker pool of a cluster: the name of its Machines without their slot. */
export const nodePoolName = (cluster: NamespacedName, pool: string, called?: string): string =>
  `${clusterPrefix(cluster, called)}-${pool}`;

/** The Secret with the Talos secrets bundle of a cluster, in the provider's namespace. */
export const clusterSecretsName = (cluster: NamespacedName): string => `${clusterPrefix(cluster)}-talos`;

/** The Secret with the disk encryption key of a Machine, in the provider's namespace. */
export const diskKeySecretName = (machine: string): string => `${machine}-disk-key`;

/**
 * Eight characters that identify an AccessRequest, also the name of its ServiceAccount. The openMCP peers use the same
 * hash.
 */
export const accessRequestId = (environment: string, provider: string, request: NamespacedName): string =>
  hashNames(environment, provider, request.namespace, request.name);

/** Eight characters that identify a published form of a Cluster, also the name of its ServiceAccount in the cluster. */
export const publicationId = (environment: string, provider: string, cluster: NamespacedName, form: string): string =>
  hashNames(environment, provider, cluster.namespace, cluster.name, `publish:${form}`);

/** The name by which consumers know a Cluster. It depends on the name and namespace of the Cluster alone. */
export const fleetName = (cluster: NamespacedName): string => clusterPrefix(cluster);

/**
 * The Secret with the granted kubeconfig, next to the AccessRequest. Named like the peers name it; at most 63
 * characters.
 */
export const accessSecretName = (request: NamespacedName): string => `${shortenName(request.name, 52)}.kubeconfig`;
