import { hashNames, shortenName } from '../lib/hash.ts';

/** Our API group; finalizers, labels and annotations follow it. */
export const group = 'talos.clusters.openmcp.cloud';
export const version = 'v1alpha1';
/** The openMCP group of Cluster, ClusterProfile and AccessRequest. */
export const openmcpGroup = 'clusters.openmcp.cloud';

/** Characters that the value of a label holds. */
export const maxLabelLength = 63;

/** Who owns the fields that we write. */
export const fieldManager = 'cluster-provider-talos';

/** Finalizers that all instances share: the object itself, or the Machine that holds it, says which one may act on it. */
export const finalizers = {
  machine: `${group}/machine`,
  host: `${group}/host`,
} as const;

/**
 * One running provider. Several may share an API server, even with the same name: in another environment, or by mistake in another
 * namespace.
 */
export interface ProviderInstance {
  readonly environment: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** The provider's own namespace, where the secrets of its clusters lie. */
  readonly namespace: string;
}

/** Eight characters for an instance. Platform teams alone choose what it is made of. */
const instanceId = ({ environment, provider, namespace }: ProviderInstance): string =>
  hashNames(environment, provider, namespace);

/**
 * Finalizers of one instance on objects that do not name it otherwise. Its own one proves that it has served the object; that of
 * another instance says that the other one does.
 */
export function instanceFinalizers(instance: ProviderInstance) {
  const id = instanceId(instance);
  return {
    providerConfig: `${group}/providerconfig-${id}`,
    cluster: `${group}/cluster-${id}`,
    accessRequest: `${group}/access-${id}`,
  };
}

/** Any of {@link instanceFinalizers} or {@link finalizers}, of whichever instance. */
export const isProviderFinalizer = (name: string): boolean =>
  /^(providerconfig|cluster|access)-[a-z2-7]{8}$|^(machine|host)$/.test(name.slice(group.length + 1)) &&
  name.startsWith(`${group}/`);

/** Whether another instance holds an object by its finalizer, and this one, whose finalizer is `own`, does not. */
export function isHeldByOtherInstance(held: readonly string[] | undefined, own: string): boolean {
  const kind = own.slice(0, own.lastIndexOf('-') + 1);
  return !held?.includes(own) && (held ?? []).some((name) => name.startsWith(kind) && isProviderFinalizer(name));
}

/** The Lease that one process of an instance leads under. The hash keeps (`dev`, `eu-talos`) and (`dev-eu`, `talos`) apart. */
export const leaseName = (environment: string, provider: string): string =>
  `${shortenName(`cluster-provider-talos-${environment}-${provider}`, 54)}-${hashNames(environment, provider)}`;

export const labels = {
  /** On everything we make on the platform cluster: the `--provider-name`. */
  provider: `${group}/provider`,
  /** {@link clusterId} of the Cluster that an object belongs to; names can be too long for a label. */
  cluster: `${group}/cluster`,
  role: `${group}/role`,
  pool: `${group}/pool`,
  /** On objects in target clusters: {@link accessRequestId} of the AccessRequest that they belong to. */
  access: `${group}/access`,
  /** The same as the openMCP peers write it: name and namespace of the AccessRequest, shortened where a label is too short. */
  managedByName: `${group}/managed-by-name`,
  managedByNamespace: `${group}/managed-by-namespace`,
  /** On Hosts that were listed: what was ordered, and where it stands. */
  product: `${group}/product`,
  location: `${group}/location`,
  /** Marks a Lease as a claim on one address. */
  address: `${group}/address`,
  /** On the Secret with the key of a Machine's disks: the name of the Machine. */
  diskKey: `${group}/disk-key`,
} as const;

/** On what `init` installs for every provider on the API server: the tools of the field show it. */
export const managedByLabels = { 'app.kubernetes.io/managed-by': fieldManager } as const;

export const annotations = {
  clusterNamespace: `${group}/cluster-namespace`,
  clusterName: `${group}/cluster-name`,
  /** With the two before it: a Cluster that is made again under its name is another one. */
  clusterUid: `${group}/cluster-uid`,
  /** On the secrets of a cluster: the Machine that etcd is or was bootstrapped on. Written before the call is made. */
  bootstrapMachine: `${group}/bootstrap-machine`,
  /** On the secrets of a cluster: boot and state of the service etcd on that Machine right before the last call. */
  bootstrapRequest: `${group}/bootstrap-request`,
  /** On the secrets of a cluster: when etcd was seen with members after that call. */
  bootstrappedAt: `${group}/bootstrapped-at`,
  kubernetesVersion: `${group}/kubernetes-version`,
  /** On the secrets of a cluster: URL of the API server, where it follows from the address of a control plane. */
  endpoint: `${group}/endpoint`,
  /** On a Cluster: what the names of its nodes begin with, instead of its own name. Kept on its secrets. */
  nodePrefix: `${group}/node-prefix`,
  talosVersion: `${group}/talos-version`,
  requestNamespace: `${group}/request-namespace`,
  requestName: `${group}/request-name`,
  /** With the two before it: of two requests whose {@link accessRequestId} is the same each has its own objects. */
  requestUid: `${group}/request-uid`,
  /** On a granted Secret: a hash of the server, authority and account that its kubeconfig is for. */
  server: `${group}/server`,
  /** On a granted Secret: id of the key that its token is signed with. */
  signingKey: `${group}/signing-key`,
  /** On a Host, by people: find out what is in the server, which reboots it. Taken off when that has begun. */
  inspect: `${group}/inspect`,
  /** On a Host, by people: reboot the server. Taken off when that has begun. */
  reboot: `${group}/reboot`,
  /** On a Machine, by people: put this right, by its reasons with commas between them. Taken off when that is done. */
  mend: `${group}/mend`,
  /** On a Machine, by us, `true`: the only control plane of its cluster, which the API server refuses to delete. */
  onlyControlPlane: `${group}/only-control-plane`,
  /** On a Machine, by people, `true`: leave it as it is, switched off too. */
  maintenance: `${group}/maintenance`,
  /** On the key and the address of a Machine, by us: the system that it is made on, as its facts name it. */
  madeOn: `${group}/made-on`,
  /** On the key of a Machine, by us: what it opens there, with commas between. */
  opens: `${group}/opens`,
  /** On a Machine that is to go, by people, `true`: the place that it was made at is gone for good. */
  placeLost: `${group}/place-lost`,
  /** On a Host, by us: why only a person can decide what becomes of it. People take it off, and thereby decide. */
  permanentError: `${group}/permanent-error`,
  /** On a ProviderConfig, by people: names of Machines whose orphans are to be removed. Taken off when that has begun. */
  removeOrphans: `${group}/remove-orphans`,
} as const;

/** Labels and annotations of the openMCP contract that we read or write. */
export const openmcpKeys = {
  provider: `${openmcpGroup}/provider`,
  profile: `${openmcpGroup}/profile`,
  kubernetesVersion: `${openmcpGroup}/k8sversion`,
  providerInfo: `${openmcpGroup}/providerinfo`,
  operation: 'openmcp.cloud/operation',
  crdCluster: 'openmcp.cloud/cluster',
  /** Labels and annotations with this prefix are handed down to what we make. */
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
 * Eight characters for a Cluster: fits where its namespace and name together would not. For names and selection only: whether
 * something belongs to a Cluster is decided by `isSameCluster`.
 */
export const clusterId = (cluster: NamespacedName): string => hashNames(cluster.namespace, cluster.name);

/** Prefix of everything named after a Cluster, `called` so instead of by its name. At most 39 characters. */
export const clusterPrefix = (cluster: NamespacedName, called = cluster.name): string =>
  `${called
    .slice(0, 30)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-$/, '')}-${clusterId(cluster)}`;

/** Name of the pool that control planes belong to. Worker pools may not be called so. */
export const controlPlanePool = 'cp';

/** A Machine is named by its slot, so that it can always be looked for. At most 63 characters (pool names have 16). */
export const machineName = (cluster: NamespacedName, pool: string, slot: number, called?: string): string =>
  `${clusterPrefix(cluster, called)}-${pool}-${slot}`;

/** The Secret with the Talos secrets bundle of a cluster, in the provider's namespace. */
export const clusterSecretsName = (cluster: NamespacedName): string => `${clusterPrefix(cluster)}-talos`;

/** The Secret with the key that the disks of a Machine are encrypted with, in the provider's namespace. */
export const diskKeySecretName = (machine: string): string => `${machine}-disk-key`;

/** Eight characters for an AccessRequest, also the name of its ServiceAccount: the same hash as the openMCP peers use. */
export const accessRequestId = (environment: string, provider: string, request: NamespacedName): string =>
  hashNames(environment, provider, request.namespace, request.name);

/** The Secret with the granted kubeconfig, beside the AccessRequest. The peers' scheme; at most 63 characters. */
export const accessSecretName = (request: NamespacedName): string => `${shortenName(request.name, 52)}.kubeconfig`;
