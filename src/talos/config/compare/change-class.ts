import type { ChangeClass } from '../../../engine/change-class.ts';

/**
 * Fields that take effect at once on all supported versions of Talos, without a restart of the node. For some a
 * component of the control plane restarts, which is why one control plane is changed at a time. Talos before 1.14
 * accepts more without a reboot (`v1alpha1_runtime.go`), and says so when it is asked; Talos 1.14 accepts everything and
 * ignores some of it until the next boot.
 */
const liveFields = [
  'machine.acceptedCAs',
  'machine.ca',
  'machine.certSANs',
  'machine.features.hostDNS',
  'machine.features.imageCache',
  'machine.features.kubePrism',
  'machine.features.kubernetesTalosAPIAccess',
  // Has no effect on an installed node.
  'machine.install',
  'machine.kubelet',
  'machine.logging',
  'machine.network',
  'machine.nodeAnnotations',
  'machine.nodeLabels',
  'machine.nodeTaints',
  'machine.pods',
  'machine.seccompProfiles',
  'machine.sysctls',
  'machine.sysfs',
  'machine.time',
  'cluster.acceptedCAs',
  'cluster.adminKubeconfig',
  'cluster.allowSchedulingOnControlPlanes',
  'cluster.apiServer',
  'cluster.ca',
  'cluster.controllerManager',
  'cluster.coreDNS',
  'cluster.discovery',
  'cluster.extraManifests',
  'cluster.externalCloudProvider',
  'cluster.inlineManifests',
  'cluster.network.cni',
  'cluster.proxy',
  'cluster.scheduler',
];

const liveDocuments = [
  'BlackholeRouteConfig',
  'BondConfig',
  'BridgeConfig',
  'DHCPv4Config',
  'DHCPv6Config',
  'DummyLinkConfig',
  'EthernetConfig',
  'EventSinkConfig',
  'ExtensionServiceConfig',
  'HTTPProbeConfig',
  'KmsgLogConfig',
  'KubeAPIServerConfig',
  'KubeAdmissionControlConfig',
  'KubeAuditPolicyConfig',
  'KubeAuthenticationConfig',
  'KubeAuthorizerConfig',
  'KubeControllerManagerConfig',
  'KubeCoreDNSConfig',
  'KubeExternalManifestConfig',
  'KubeInlineManifestConfig',
  'KubeNodeConfig',
  'KubePrismConfig',
  'KubeProxyConfig',
  'KubeSchedulerConfig',
  'KubeletConfig',
  'Layer2VIPConfig',
  'LinkAliasConfig',
  'LinkConfig',
  'NetworkDefaultActionConfig',
  'NetworkRuleConfig',
  'ResolverConfig',
  'RoutingRuleConfig',
  'StaticHostConfig',
  'SysctlConfig',
  'SysfsConfig',
  'TCPProbeConfig',
  'TimeSyncConfig',
  'TrustedRootsConfig',
  'UserVolumeConfig',
  'VLANConfig',
  'VRFConfig',
  'WatchdogTimerConfig',
];

/** Images of Kubernetes components. */
const kubernetesImages = [
  'machine.kubelet.image',
  'cluster.apiServer.image',
  'cluster.controllerManager.image',
  'cluster.proxy.image',
  'cluster.scheduler.image',
  'KubeAPIServerConfig.image',
  'KubeControllerManagerConfig.image',
  'KubeProxyConfig.image',
  'KubeSchedulerConfig.image',
  'KubeletConfig.image',
];

/** Talos accepts these at once, but they take effect only with the next boot, or partly so. */
const bootFields = ['cluster.etcd', 'machine.kernel', 'machine.registries'];
const bootDocuments = ['EnvironmentConfig', 'KernelModuleConfig', 'RegistryAuthConfig', 'VolumeConfig'];

/** Of the cluster, but no input of the static pod of kube-apiserver. */
const fieldsBesideApiServer = [
  'cluster.adminKubeconfig',
  'cluster.allowSchedulingOnControlPlanes',
  'cluster.controllerManager',
  'cluster.coreDNS',
  'cluster.discovery',
  'cluster.externalCloudProvider',
  'cluster.extraManifests',
  'cluster.inlineManifests',
  'cluster.network.cni',
  'cluster.proxy',
  'cluster.scheduler',
];
const documentsBesideApiServer = [
  'KubeControllerManagerConfig',
  'KubeCoreDNSConfig',
  'KubeExternalManifestConfig',
  'KubeInlineManifestConfig',
  'KubeNodeConfig',
  'KubePrismConfig',
  'KubeProxyConfig',
  'KubeSchedulerConfig',
  'KubeletConfig',
];

/** A node registers with these only once, when it joins. */
const replaceFields = ['machine.kubelet.extraArgs.provider-id', 'machine.kubelet.extraConfig.registerWithTaints'];

/** What a cluster and the role of a node are made of. */
const fixedFields = [
  'cluster.clusterName',
  'cluster.controlPlane',
  'cluster.id',
  'cluster.network.dnsDomain',
  'cluster.network.podSubnets',
  'cluster.network.serviceSubnets',
  'cluster.secret',
  'machine.type',
];

const isIn = (field: string, paths: readonly string[]): boolean =>
  paths.some((path) => field === path || field.startsWith(`${path}.`));

/** The kind of the document that a field names; empty for the main document. */
const kindOf = (field: string): string => /^[A-Z]\w*/.exec(field)?.[0] ?? '';

/** The class of a field as `listConfigChanges` names it, on any version of Talos. */
export function classifyChange(field: string): ChangeClass {
  if (isIn(field, kubernetesImages)) return 'kubernetes';
  if (isIn(field, fixedFields)) return 'refused';
  if (isIn(field, replaceFields)) return 'replace';
  return isIn(field, liveFields) || liveDocuments.includes(kindOf(field)) ? 'live' : 'restart';
}

/** Whether a field takes effect with the next boot only, although Talos before 1.14 accepts it without one. */
export const needsBoot = (field: string): boolean => isIn(field, bootFields) || bootDocuments.includes(kindOf(field));

/** Whether Talos restarts the kubelet for a change of the field. */
export const restartsKubelet = (field: string): boolean =>
  isIn(field, ['machine.kubelet']) || kindOf(field) === 'KubeletConfig';

/** Whether Talos may recreate the static pod of kube-controller-manager or kube-scheduler for a change of the field. */
export const mayRestartControllers = (field: string): boolean =>
  isIn(field, ['cluster.controllerManager', 'cluster.scheduler']) ||
  ['KubeControllerManagerConfig', 'KubeSchedulerConfig'].includes(kindOf(field));

/** Whether Talos may recreate the static pod of kube-apiserver for a change of the field; also for one unknown here. */
export const mayRestartApiServer = (field: string): boolean =>
  kindOf(field) === ''
    ? field.startsWith('cluster.') && !isIn(field, fieldsBesideApiServer)
    : kindOf(field).startsWith('Kube') && !documentsBesideApiServer.includes(kindOf(field));
