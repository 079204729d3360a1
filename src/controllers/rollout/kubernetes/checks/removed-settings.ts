/** What a minor of Kubernetes no longer accepts: a program that is started with it ends at once. */
interface RemovedSettings {
  /** Feature gates of all programs. */
  readonly gates?: string;
  readonly admissionPlugins?: string;
  /** Flags by program. */
  readonly flags?: { readonly [P in KubernetesProgram]?: string };
}

export type KubernetesProgram = 'apiServer' | 'controllerManager' | 'scheduler' | 'proxy' | 'kubelet';

/**
 * By the minor that removed them, names separated by spaces (the checks of `talosctl upgrade-k8s`, go-kubernetes:
 * `kubernetes/upgrade/checks.go`). Those of 1.36 and later are provisional there.
 */
export const removedSettings: Readonly<Record<string, RemovedSettings>> = {
  '1.30': { admissionPlugins: 'SecurityContextDeny' },
  '1.31': {
    gates:
      'APIPriorityAndFairness CSINodeExpandSecret ConsistentHTTPGetHandlers DefaultHostNetworkHostPortsInPodTemplates ServiceNodePortStaticSubrange SkipReadOnlyValidationGCE',
    flags: {
      kubelet: 'keep-terminated-pod-volumes iptables-masquerade-bit iptables-drop-bit',
      controllerManager:
        'volume-host-cidr-denylist volume-host-allow-local-loopback horizontal-pod-autoscaler-upscale-delay horizontal-pod-autoscaler-downscale-delay',
    },
  },
  '1.32': {
    gates:
      'AllowServiceLBStatusOnNonLB CloudDualStackNodeIPs DRAControlPlaneController HPAContainerMetrics KMSv2 KMSv2KDF LegacyServiceAccountTokenCleanUp MinDomainsInPodTopologySpread NewVolumeManagerReconstruction NodeOutOfServiceVolumeDetach ServerSideApply ServerSideFieldValidation StableLoadBalancerNodeSet ValidatingAdmissionPolicy ZeroLimitedNominalConcurrencyShares',
  },
  '1.33': {
    gates:
      'AppArmor AppArmorFields CPUManager DisableCloudProviders DisableKubeletCloudCredentialProviders JobPodFailurePolicy KubeProxyDrainingTerminatingNodes PDBUnhealthyPodEvictionPolicy PersistentVolumeLastPhaseTransitionTime VolumeCapacityPriority',
    flags: { apiServer: 'cloud-config' },
  },
  '1.34': {
    gates: 'DevicePluginCDIDevices LegacySidecarContainers PodDisruptionConditions',
    flags: { kubelet: 'cloud-config' },
  },
  '1.35': {
    gates: 'SizeMemoryBackedVolumes UserNamespacesHostNetworkSupport',
    flags: { kubelet: 'pod-infra-container-image' },
  },
  '1.36': {
    gates:
      'CSIMigrationPortworx HonorPVReclaimPolicy InTreePluginPortworxUnregister WatchFromStorageWithoutResourceVersion',
  },
  '1.37': {
    gates:
      'AnyVolumeDataSource DeclarativeValidationTakeover GangScheduling PreventStaticPodAPIReferences WorkloadAwarePreemption',
    flags: {
      kubelet:
        'application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace enable-load-reader event-storage-age-limit event-storage-event-limit global-housekeeping-interval log-cadvisor-usage machine-id-file storage-driver-user storage-driver-password storage-driver-host storage-driver-db storage-driver-table storage-driver-secure storage-driver-buffer-duration',
    },
  },
};
