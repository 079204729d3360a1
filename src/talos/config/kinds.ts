/** A document beside the main one. */
export interface Kind {
  /** The first Talos minor that knows it, among those that we write for. */
  readonly since: '1.12' | '1.13' | '1.14';
  /** Its keys beside `apiVersion` and `kind`. */
  readonly keys: readonly string[];
  /** Only for control planes: on a worker Talos refuses it. */
  readonly controlPlaneOnly?: boolean;
  /** Paths of the main document that say the same: Talos refuses the two together. */
  readonly conflicts?: readonly string[];
}

const words = (text: string): readonly string[] => text.split(' ');

function kind(since: Kind['since'], keys: string, extra: Omit<Kind, 'since' | 'keys'> = {}): Kind {
  return { since, keys: words(keys), ...extra };
}

const controlPlaneKind = (keys: string, conflicts = ''): Kind =>
  kind('1.14', keys, { controlPlaneOnly: true, ...(conflicts ? { conflicts: words(conflicts) } : {}) });

const replaces = (conflicts: string) => ({ conflicts: words(conflicts) });
const link = 'up mtu addresses routes multicast';

const networkKinds: Readonly<Record<string, Kind>> = {
  BGPInstanceConfig: kind(
    '1.14',
    'name vrf localASN routerID routeSource advertise multipath maxPaths installRoutes importRoutes neighbors',
  ),
  BlackholeRouteConfig: kind('1.13', 'name metric'),
  BondConfig: kind(
    '1.12',
    'name hardwareAddr links bondMode miimon updelay downdelay useCarrier xmitHashPolicy arpInterval arpIpTargets ' +
      'nsIp6Targets arpValidate arpAllTargets lacpRate failOverMac adSelect adActorSysPrio adUserPortKey adLACPActive ' +
      'primaryReselect resendIGMP minLinks lpInterval packetsPerSlave numPeerNotif tlbLogicalLb allSlavesActive ' +
      `peerNotifDelay missedMax ${link}`,
  ),
  BridgeConfig: kind('1.12', `name hardwareAddr links stp vlan ${link}`),
  DHCPv4Config: kind('1.12', 'name routeMetric ignoreHostname ignoreRoutes clientIdentifier duidRaw'),
  DHCPv6Config: kind('1.12', 'name routeMetric ignoreHostname clientIdentifier duidRaw'),
  DummyLinkConfig: kind('1.12', `name hardwareAddr ${link}`),
  EthernetConfig: kind('1.12', 'name features rings channels wakeOnLan'),
  HCloudVIPConfig: kind('1.12', 'name link apiToken'),
  HTTPProbeConfig: kind('1.14', 'name interval failureThreshold url timeout'),
  HostnameConfig: kind('1.12', 'auto hostname', replaces('machine.network.hostname machine.features.stableHostname')),
  KubeSpanConfig: kind(
    '1.13',
    'enabled advertiseKubernetesNetworks allowDownPeerBypass harvestExtraEndpoints mtu filters',
    replaces('machine.network.kubespan'),
  ),
  KubeSpanEndpointsConfig: kind('1.12', 'extraAnnouncedEndpoints'),
  Layer2VIPConfig: kind('1.12', 'name link'),
  LinkAliasConfig: kind('1.12', 'name selector'),
  LinkConfig: kind('1.12', `name ${link}`),
  NetworkDefaultActionConfig: kind('1.12', 'ingress'),
  NetworkRuleConfig: kind('1.12', 'name portSelector ingress'),
  ResolverConfig: kind(
    '1.12',
    'nameservers searchDomains hostDNS',
    replaces('machine.network.nameservers machine.network.searchDomains machine.network.disableSearchDomain'),
  ),
  RoutingRuleConfig: kind('1.13', 'name src dst table action iifName oifName fwMark fwMask'),
  StaticHostConfig: kind('1.12', 'name hostnames'),
  TCPProbeConfig: kind('1.13', 'name interval failureThreshold endpoint timeout'),
  TimeSyncConfig: kind(
    '1.12',
    'enabled bootTimeout ntp ptp',
    replaces('machine.time.servers machine.time.bootTimeout'),
  ),
  VLANConfig: kind('1.12', `name vlanID vlanMode parent ${link}`),
  VRFConfig: kind('1.13', `name hardwareAddr links table ${link}`),
  VethConfig: kind('1.14', `name peer ${link}`),
  WireguardConfig: kind('1.12', `name privateKey listenPort firewallMark peers ${link}`),
};

const storageKinds: Readonly<Record<string, Kind>> = {
  ExistingVolumeConfig: kind('1.12', 'name discovery mount trim scrub'),
  ExternalVolumeConfig: kind('1.13', 'name filesystemType mount'),
  FilesystemScrubConfig: kind('1.14', 'interval'),
  FilesystemTrimConfig: kind('1.14', 'interval'),
  LVMLogicalVolumeConfig: kind('1.14', 'name type mirrors stripes provisioning'),
  LVMVolumeGroupConfig: kind('1.14', 'name provisioning'),
  RAIDArrayConfig: kind('1.14', 'name level metadata provisioning'),
  RawVolumeConfig: kind('1.12', 'name provisioning encryption'),
  SwapVolumeConfig: kind('1.12', 'name provisioning encryption'),
  UserVolumeConfig: kind('1.12', 'name volumeType provisioning filesystem encryption mount trim scrub'),
  VolumeConfig: kind('1.12', 'name provisioning filesystem encryption mount trim scrub'),
  ZswapConfig: kind('1.12', 'maxPoolPercent shrinkerEnabled'),
};

const runtimeKinds: Readonly<Record<string, Kind>> = {
  CRIBaseRuntimeSpecConfig: kind('1.14', 'overrides', replaces('machine.baseRuntimeSpecOverrides')),
  CRICustomizationConfig: kind('1.14', 'name content'),
  ContainerConfig: kind(
    '1.14',
    'name image entrypoint args workingDir runAs environment mounts security network resources dependsOn',
  ),
  EnvironmentConfig: kind('1.13', 'variables'),
  EtcFileConfig: kind('1.14', 'name mode contents'),
  EventSinkConfig: kind('1.12', 'endpoint'),
  ExtensionServiceConfig: kind('1.12', 'name configFiles environment'),
  ImageCacheConfig: kind('1.14', 'local', replaces('machine.features.imageCache')),
  ImageVerificationConfig: kind('1.13', 'rules'),
  KernelModuleConfig: kind('1.14', 'name parameters'),
  KmsgLogConfig: kind('1.12', 'name url'),
  OOMConfig: kind('1.12', 'triggerExpression cgroupRankingExpression strictCgroupClassOrdering sampleInterval'),
  PCIDriverRebindConfig: kind('1.12', 'name targetDriver'),
  RegistryAuthConfig: kind('1.12', 'name username password auth identityToken'),
  RegistryMirrorConfig: kind('1.12', 'name endpoints skipFallback'),
  RegistryTLSConfig: kind('1.12', 'name clientIdentity ca insecureSkipVerify'),
  SecurityProfileConfig: kind('1.14', 'workloadIsolation'),
  SideroLinkConfig: kind('1.12', 'apiUrl uniqueToken'),
  SysctlConfig: kind('1.14', 'params'),
  SysfsConfig: kind('1.14', 'params'),
  TrustedRootsConfig: kind('1.12', 'name certificates'),
  UdevRulesConfig: kind('1.14', 'rules'),
  UnattendedInstallConfig: kind('1.14', 'reboot installer provisioning', replaces('machine.install')),
  WatchdogTimerConfig: kind('1.12', 'device timeout'),
};

const clusterKinds: Readonly<Record<string, Kind>> = {
  DiscoveryIdentityConfig: kind('1.14', 'clusterID clusterSecret', replaces('cluster.id cluster.secret')),
  DiscoveryServiceConfig: kind('1.14', 'name endpoint', replaces('cluster.discovery')),
  KubeAPIServerCAConfig: kind('1.14', 'issuingCA acceptedCAs', replaces('cluster.ca')),
  KubeAPIServerConfig: controlPlaneKind(
    'image extraArgs env resources apiPort certExtraSANs startupProbes',
    'cluster.apiServer cluster.controlPlane.localAPIServerPort',
  ),
  KubeAdmissionControlConfig: controlPlaneKind('name configuration', 'cluster.apiServer.admissionControl'),
  KubeAggregatorCAConfig: controlPlaneKind('issuingCA acceptedCAs', 'cluster.aggregatorCA'),
  KubeAuditPolicyConfig: controlPlaneKind('configuration', 'cluster.apiServer.auditPolicy'),
  KubeAuthenticationConfig: controlPlaneKind('configuration'),
  KubeAuthorizerConfig: controlPlaneKind(
    'name type webhook',
    'cluster.apiServer.admissionControl cluster.apiServer.authorizationConfig',
  ),
  KubeClusterConfig: kind(
    '1.14',
    'clusterName endpoint',
    replaces('cluster.clusterName cluster.controlPlane.endpoint'),
  ),
  KubeControllerManagerConfig: controlPlaneKind(
    'enabled image extraArgs env resources',
    'cluster.controllerManager machine.controlPlane.controllerManager',
  ),
  KubeCoreDNSConfig: controlPlaneKind('enabled image', 'cluster.coreDNS'),
  KubeCredentialProviderConfig: kind('1.14', 'configuration', replaces('machine.kubelet')),
  KubeEtcdEncryptionConfig: controlPlaneKind(
    'config',
    'cluster.secretboxEncryptionSecret cluster.aescbcEncryptionSecret',
  ),
  KubeExternalManifestConfig: kind('1.14', 'name headers url'),
  KubeFlannelCNIConfig: controlPlaneKind(
    'backendType backendPort backendMTU backendExtraConfig resources extraArgs kubeNetworkPoliciesEnabled',
    'cluster.network',
  ),
  KubeInlineManifestConfig: kind('1.14', 'name manifest'),
  KubeNetworkConfig: kind(
    '1.14',
    'dnsDomain podSubnets serviceSubnets nodeCIDRMaskSizeIPv4 nodeCIDRMaskSizeIPv6',
    replaces('cluster.network'),
  ),
  KubeNodeConfig: kind(
    '1.14',
    'skipNodeRegistration registerWithFQDN nodeIP labels annotations taints',
    replaces(
      'cluster.allowSchedulingOnControlPlanes machine.kubelet.skipNodeRegistration machine.kubelet.registerWithFQDN ' +
        'machine.kubelet.nodeIP machine.nodeLabels machine.nodeAnnotations',
    ),
  ),
  KubePrismConfig: kind('1.14', 'port tlsServerName', replaces('machine.features.kubePrism')),
  KubeProxyConfig: controlPlaneKind('enabled image mode config extraArgs resources', 'cluster.proxy'),
  KubeSchedulerConfig: controlPlaneKind(
    'enabled image config extraArgs env resources',
    'cluster.scheduler machine.controlPlane.scheduler',
  ),
  KubeServiceAccountConfig: controlPlaneKind('issuer accepted', 'cluster.serviceAccount'),
  KubeStaticPodConfig: kind('1.14', 'name pod'),
  KubeTalosAPIAccessConfig: controlPlaneKind(
    'allowedRoles allowedKubernetesNamespaces',
    'machine.features.kubernetesTalosAPIAccess',
  ),
  KubeletConfig: kind(
    '1.14',
    'image config extraArgs extraMounts clusterDNS defaultRuntimeSeccompProfileEnabled',
    replaces('machine.kubelet'),
  ),
};

/** Every kind that Talos registers (`pkg/machinery/config/types`), without the deprecated Equinix ones. */
export const kinds: Readonly<Record<string, Kind>> = {
  ...networkKinds,
  ...storageKinds,
  ...runtimeKinds,
  ...clusterKinds,
};
