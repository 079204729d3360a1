import type { ChangeClass } from '../../../engine/change-class.ts';

/**
 * Fields that take effect at once on all supported versions of Talos and interrupt nothing. Talos accepts more without
 * a reboot (`v1alpha1_runtime.go`), but restarts components of the control plane for some, and ignores others until
 * the next boot: those count as `restart`.
 */
const liveFields = [
  'machine.certSANs',
  'machine.features.hostDNS',
  'machine.features.imageCache',
  'machine.features.kubePrism',
  'machine.features.kubernetesTalosAPIAccess',
  'machine.kubelet',
  'machine.logging',
  'machine.network.nameservers',
  'machine.nodeAnnotations',
  'machine.nodeLabels',
  'machine.nodeTaints',
  'machine.pods',
  'machine.sysctls',
  'machine.sysfs',
  'machine.time',
  'cluster.allowSchedulingOnControlPlanes',
  'cluster.discovery',
  'cluster.extraManifests',
  'cluster.externalCloudProvider',
  'cluster.inlineManifests',
];

const liveDocuments = [
  'EthernetConfig',
  'ResolverConfig',
  'TimeSyncConfig',
  'TrustedRootsConfig',
  'WatchdogTimerConfig',
];

/** Images of Kubernetes components. */
const kubernetesImages = [
  'machine.kubelet.image',
  'cluster.apiServer.image',
  'cluster.controllerManager.image',
  'cluster.proxy.image',
  'cluster.scheduler.image',
];

/** Exceptions from {@link liveFields}: a kubelet registers with these only once. */
const restartFields = ['machine.kubelet.extraArgs.provider-id', 'machine.kubelet.extraConfig.registerWithTaints'];

/** The class of a field as `listConfigChanges` names it. */
export function classifyChange(field: string): ChangeClass {
  const isIn = (path: string): boolean => field === path || field.startsWith(`${path}.`);
  if (kubernetesImages.some(isIn)) return 'kubernetes';
  if (isIn('machine.install')) return 'os';
  if (restartFields.some(isIn)) return 'restart';
  if (liveFields.some(isIn)) return 'live';
  const [kind = ''] = field.split(' ');
  return liveDocuments.includes(kind) ? 'live' : 'restart';
}
