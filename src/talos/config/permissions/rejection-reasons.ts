/**
 * Reasons for rejections, by the beginning of the path; the longest match counts. Each completes the sentence "… cannot
 * be set in a ClusterConfig: …".
 */
const network = 'addresses, routes, names and the firewall of nodes belong to the network of the platform team';
const disks = 'disks and their erasure follow from the ProviderConfig';
const system = 'programs on a node other than Pods follow from the ProviderConfig';
const images = 'images of the system follow from the versions of the ProviderConfig and of the Cluster';
const identity = 'access to a cluster follows from its secrets and its AccessRequests';
const files = 'it names files, programs or folders of the node';
const time = 'time servers are those of network.timeServers';
const egress = 'it decides where a node sends its data';
const manifests =
  'nodes fetch nothing from an address that a ClusterConfig names: put the objects into cluster.inlineManifests';
const registry =
  'an owner may change only registries that neither Talos nor Kubernetes comes from, over https with a verified certificate';

const reasonsByPath: Readonly<Record<string, string>> = {
  'machine.network': network,
  'machine.certSANs': identity,
  'machine.acceptedCAs': identity,
  'machine.ca': identity,
  'machine.token': identity,
  'machine.install': images,
  'machine.install.disk': disks,
  'machine.install.diskSelector': disks,
  'machine.install.wipe': disks,
  'machine.disks': disks,
  'machine.systemDiskEncryption': disks,
  'machine.files': files,
  'machine.pods': 'static Pods bypass the admission and the audit log of the API server',
  'machine.env': egress,
  'machine.logging': egress,
  'machine.time': time,
  'machine.udev': files,
  'machine.sysfs': 'parameters of drivers follow from the ProviderConfig',
  'machine.sysctls': 'only settings of the list in docs/security.md can be changed',
  'machine.kernel': 'only modules of the list in docs/security.md, with numbers as parameters, can be loaded',
  'machine.baseRuntimeSpecOverrides': 'it changes what every container may do',
  'machine.seccompProfiles': 'the name of a profile must be a file name',
  'machine.features.kubernetesTalosAPIAccess': 'Pods would reach the Talos API, and with it the secrets of the nodes',
  'machine.features': system,
  'machine.controlPlane': system,
  'machine.type': 'the role of a node is fixed',
  'machine.kubelet': system,
  'machine.kubelet.image': images,
  'machine.kubelet.nodeIP': network,
  'machine.kubelet.extraMounts': 'only folders below /var/mnt can be shown to the kubelet, each at its own path',
  'machine.kubelet.extraArgs': 'only flags of the list in docs/security.md can be set',
  'machine.kubelet.extraConfig': 'only settings of the list in docs/security.md can be set',
  'machine.kubelet.credentialProviderConfig': files,
  'machine.registries': registry,
  'cluster.extraManifests': manifests,
  'cluster.extraManifestHeaders': manifests,
  'cluster.externalCloudProvider': manifests,
  'cluster.network.cni': manifests,
  'cluster.network': network,
  'cluster.controlPlane': 'the endpoint follows from controlPlane.endpoint of the ProviderConfig',
  'cluster.allowSchedulingOnMasters': 'its name is controlPlane.schedulable',
  'cluster.apiServer': system,
  'cluster.apiServer.extraArgs': 'only flags of the list in docs/security.md can be set',
  'cluster.apiServer.extraVolumes': files,
  'cluster.apiServer.env': egress,
  'cluster.apiServer.auditPolicy': 'the audit policy is up to the platform team',
  'cluster.apiServer.authorizationConfig': identity,
  'cluster.apiServer.admissionControl': 'only the plugin PodSecurity can be configured',
  'cluster.apiServer.image': images,
  'cluster.controllerManager.extraArgs': 'only flags of the list in docs/security.md can be set',
  'cluster.controllerManager.extraVolumes': files,
  'cluster.controllerManager.env': egress,
  'cluster.controllerManager.image': images,
  'cluster.scheduler.extraArgs': 'only flags of the list in docs/security.md can be set',
  'cluster.scheduler.extraVolumes': files,
  'cluster.scheduler.env': egress,
  'cluster.scheduler.config': 'only profiles can be set: the other fields name files and other systems',
  'cluster.scheduler.image': images,
  'cluster.proxy.extraArgs': 'only flags of the list in docs/security.md can be set',
  'cluster.proxy.image': images,
  'cluster.coreDNS.image': images,
  'cluster.etcd.extraArgs': 'only flags of the list in docs/security.md can be set',
  'cluster.etcd.image': images,
  'cluster.etcd': network,
  'cluster.discovery': 'it follows from talos.discovery of the ProviderConfig',
  'cluster.adminKubeconfig': identity,
  'cluster.id': identity,
  'cluster.secret': identity,
  'cluster.token': identity,
  'cluster.ca': identity,
  'cluster.acceptedCAs': identity,
  'cluster.aggregatorCA': identity,
  'cluster.serviceAccount': identity,
  'cluster.secretboxEncryptionSecret': identity,
  'cluster.aescbcEncryptionSecret': identity,
};

/** By the beginning of the name of a kind. */
const reasonsByKind: readonly (readonly [RegExp, string])[] = [
  [/^(Registry)/, registry],
  [/^(.*Volume|Swap|LVM|RAID|Filesystem)/, disks],
  [/^KubeStaticPod/, 'static Pods bypass the admission and the audit log of the API server'],
  [/^KubeExternalManifest/, manifests],
  [/^KubeTalosAPIAccess/, 'Pods would reach the Talos API, and with it the secrets of the nodes'],
  [/^KubeAuditPolicy/, 'the audit policy is up to the platform team'],
  [/^(Kube(Auth|.*CA|ServiceAccount|EtcdEncryption|Credential|Cluster)|TrustedRoots|DiscoveryIdentity)/, identity],
  [/^(UnattendedInstall|ImageVerification|ImageCache)/, images],
  [/^(Environment|KmsgLog|EventSink|SideroLink|DiscoveryService|.*Probe)/, egress],
  [/^TimeSync/, time],
  [/^(EtcFile|CRI|Udev|Sysfs|PCIDriver|Container|ExtensionService|SecurityProfile|OOM|Watchdog)/, system],
];

/** For a dotted path of the main document. */
export function findRejectionReasonOfPath(path: string): string | undefined {
  const fitting = Object.keys(reasonsByPath).filter((known) => path === known || path.startsWith(`${known}.`));
  const longest = fitting.reduce((a, b) => (a.length > b.length ? a : b), '');
  return reasonsByPath[longest];
}

/** For a whole kind of document. Kinds without a specific reason concern the network of nodes. */
export const rejectionReasonOfKind = (kind: string): string =>
  reasonsByKind.find(([pattern]) => pattern.test(kind))?.[1] ?? network;
