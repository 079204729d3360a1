import { type Keys, shapeOf } from './shape.ts';

/** A document beside the main one. */
export interface Kind {
  /** The first Talos minor that knows it, among those that we write for. */
  readonly since: '1.12' | '1.13' | '1.14';
  /** What it holds beside `apiVersion` and `kind`. */
  readonly shape: Keys;
  /** Only for control planes: on a worker Talos refuses it. */
  readonly controlPlaneOnly?: boolean;
  /** Paths of the main document that say the same: Talos refuses the two together. */
  readonly conflicts?: readonly string[];
}

const words = (text: string): readonly string[] => text.split(' ');

function kind(since: Kind['since'], shape: string, extra: Omit<Kind, 'since' | 'shape'> = {}): Kind {
  return { since, shape: shapeOf(shape), ...extra };
}

const controlPlaneKind = (shape: string, conflicts = ''): Kind =>
  kind('1.14', shape, { controlPlaneOnly: true, ...(conflicts ? { conflicts: words(conflicts) } : {}) });

const replaces = (conflicts: string) => ({ conflicts: words(conflicts) });
const link =
  'up? mtu# addresses[address/ routePriority#] routes[destination/ gateway^ source^ metric# mtu# table] multicast?';
const probe = 'name interval@ failureThreshold# timeout@';

const networkKinds: Readonly<Record<string, Kind>> = {
  BGPInstanceConfig: kind(
    '1.14',
    'name vrf localASN# routerID^ routeSource^ advertise[] multipath? maxPaths# installRoutes? importRoutes[bgpInstance prefixes[/]] ' +
      'neighbors[address^ link peerASN# localASN# passive? holdTime@ bfd{transmitInterval@ receiveInterval@ detectMultiplier#}]',
  ),
  BlackholeRouteConfig: kind('1.13', 'name metric#'),
  BondConfig: kind(
    '1.12',
    'name hardwareAddr links[] bondMode(balance-rr|active-backup|balance-xor|broadcast|802.3ad|balance-tlb|balance-alb) miimon# updelay# downdelay# useCarrier? xmitHashPolicy(layer2|layer3+4|layer2+3|encap2+3|encap3+4) arpInterval# arpIpTargets[^] ' +
      'nsIp6Targets[^] arpValidate(none|active|backup|all|filter|filter-active|filter-backup) arpAllTargets(any|all) ' +
      'lacpRate(slow|fast) failOverMac(none|active|follow) adSelect(stable|bandwidth|count) adActorSysPrio# adUserPortKey# adLACPActive(on|off) ' +
      'primaryReselect(always|better|failure) resendIGMP# minLinks# lpInterval# packetsPerSlave# numPeerNotif# tlbLogicalLb# allSlavesActive# ' +
      `peerNotifDelay# missedMax# ${link}`,
  ),
  BridgeConfig: kind('1.12', `name hardwareAddr links[] stp{enabled?} vlan{filtering?} ${link}`),
  DHCPv4Config: kind('1.12', 'name routeMetric# ignoreHostname? ignoreRoutes? clientIdentifier(none|mac|duid) duidRaw'),
  DHCPv6Config: kind('1.12', 'name routeMetric# ignoreHostname? clientIdentifier(none|mac|duid) duidRaw'),
  DummyLinkConfig: kind('1.12', `name hardwareAddr ${link}`),
  EthernetConfig: kind(
    '1.12',
    'name features{?} rings{rx# tx# rx-mini# rx-jumbo# rx-buf-len# cqe-size# tx-push? rx-push? tx-push-buf-len# tcp-data-split?} ' +
      'channels{rx# tx# other# combined#} wakeOnLan[]',
  ),
  HCloudVIPConfig: kind('1.12', 'name link apiToken'),
  HTTPProbeConfig: kind('1.14', `${probe} url`),
  HostnameConfig: kind(
    '1.12',
    'auto(stable|off) hostname',
    replaces('machine.network.hostname machine.features.stableHostname'),
  ),
  KubeSpanConfig: kind(
    '1.13',
    'enabled? advertiseKubernetesNetworks? allowDownPeerBypass? harvestExtraEndpoints? mtu# ' +
      'filters{endpoints[] excludeAdvertisedNetworks[/]}',
    replaces('machine.network.kubespan'),
  ),
  KubeSpanEndpointsConfig: kind('1.12', 'extraAnnouncedEndpoints[]'),
  Layer2VIPConfig: kind('1.12', 'name link'),
  LinkAliasConfig: kind('1.12', 'name selector{match}'),
  LinkConfig: kind('1.12', `name ${link}`),
  NetworkDefaultActionConfig: kind('1.12', 'ingress(accept|block)'),
  NetworkRuleConfig: kind('1.12', 'name portSelector{ports[] protocol(tcp|udp|icmp|icmpv6)} ingress[subnet/ except/]'),
  ResolverConfig: kind(
    '1.12',
    'nameservers[address^ protocol(Do53|DoT|DoH) tlsServerName] searchDomains{domains[] disableDefault?} ' +
      'hostDNS{enabled? forwardKubeDNSToHost? resolveMemberNames?}',
    replaces('machine.network.nameservers machine.network.searchDomains machine.network.disableSearchDomain'),
  ),
  RoutingRuleConfig: kind('1.13', 'name src/ dst/ table action~ iifName oifName fwMark# fwMask#'),
  StaticHostConfig: kind('1.12', 'name hostnames[]'),
  TCPProbeConfig: kind('1.13', `${probe} endpoint`),
  TimeSyncConfig: kind(
    '1.12',
    'enabled? bootTimeout@ ntp{servers[] useNTS?} ptp{devices[]}',
    replaces('machine.time.servers machine.time.bootTimeout'),
  ),
  VLANConfig: kind('1.12', `name vlanID# vlanMode(802.1q|802.1ad) parent ${link}`),
  VRFConfig: kind('1.13', `name hardwareAddr links[] table ${link}`),
  VethConfig: kind('1.14', `name peer{name ${link}} ${link}`),
  WireguardConfig: kind(
    '1.12',
    `name privateKey listenPort# firewallMark# peers[publicKey presharedKey endpoint persistentKeepaliveInterval@ allowedIPs[/]] ${link}`,
  ),
};

const encryption =
  'encryption{provider cipher keySize# blockSize# options[] allowDiscards? ' +
  'keys[slot# static{passphrase} nodeID{~} kms{endpoint} lockToState? ' +
  'tpm{options{pcrs[#]} checkSecurebootStatusOnEnroll?}]}';
const provisioned = `provisioning{diskSelector{match} grow? minSize maxSize} ${encryption}`;
const mounted = 'disableAccessTime? secure?';
const kept = 'trim{enabled? interval@} scrub{enabled? interval@}';
const xfs = 'xfs{minAllocationGroupSize}';

const storageKinds: Readonly<Record<string, Kind>> = {
  ExistingVolumeConfig: kind('1.12', `name discovery{volumeSelector{match}} mount{readOnly? ${mounted}} ${kept}`),
  ExternalVolumeConfig: kind('1.13', `name filesystemType mount{readOnly? ${mounted} virtiofs{tag}}`),
  FilesystemScrubConfig: kind('1.14', 'interval@'),
  FilesystemTrimConfig: kind('1.14', 'interval@'),
  LVMLogicalVolumeConfig: kind('1.14', 'name type mirrors# stripes# provisioning{volumeGroup minSize maxSize}'),
  LVMVolumeGroupConfig: kind('1.14', 'name provisioning{volumeSelector{match}}'),
  RAIDArrayConfig: kind('1.14', 'name level metadata provisioning{volumeSelector{match}}'),
  RawVolumeConfig: kind('1.12', `name ${provisioned}`),
  SwapVolumeConfig: kind('1.12', `name ${provisioned}`),
  UserVolumeConfig: kind(
    '1.12',
    `name volumeType ${provisioned} filesystem{type projectQuotaSupport? ${xfs}} mount{${mounted}} ${kept}`,
  ),
  VolumeConfig: kind('1.12', `name ${provisioned} filesystem{${xfs}} mount{${mounted}} ${kept}`),
  ZswapConfig: kind('1.12', 'maxPoolPercent# shrinkerEnabled?'),
};

const runtimeKinds: Readonly<Record<string, Kind>> = {
  CRIBaseRuntimeSpecConfig: kind('1.14', 'overrides{~}', replaces('machine.baseRuntimeSpecOverrides')),
  CRICustomizationConfig: kind('1.14', 'name content'),
  ContainerConfig: kind(
    '1.14',
    'name image entrypoint[] args[] workingDir runAs{uid# gid#} environment[] ' +
      'mounts[userVolume{name destination options~} tmpfs{destination size options[]} hostPath{source destination options[]}] ' +
      'security{profile capabilities{add[] drop[]}} network{mode} resources{limits{cpu memory}} ' +
      'dependsOn{paths[] networks~ time? containers[]}',
  ),
  EnvironmentConfig: kind('1.13', 'variables{}'),
  EtcFileConfig: kind('1.14', 'name mode# contents'),
  EventSinkConfig: kind('1.12', 'endpoint'),
  ExtensionServiceConfig: kind('1.12', 'name configFiles[content mountPath] environment[]'),
  ImageCacheConfig: kind('1.14', 'local{enabled?}', replaces('machine.features.imageCache')),
  ImageVerificationConfig: kind('1.13', 'rules~'),
  KernelModuleConfig: kind('1.14', 'name parameters[]'),
  KmsgLogConfig: kind('1.12', 'name url'),
  OOMConfig: kind('1.12', 'triggerExpression cgroupRankingExpression strictCgroupClassOrdering? sampleInterval@'),
  PCIDriverRebindConfig: kind('1.12', 'name targetDriver'),
  RegistryAuthConfig: kind('1.12', 'name username password auth identityToken'),
  RegistryMirrorConfig: kind('1.12', 'name endpoints[url overridePath?] skipFallback?'),
  RegistryTLSConfig: kind('1.12', 'name clientIdentity{cert key} ca insecureSkipVerify?'),
  SecurityProfileConfig: kind('1.14', 'workloadIsolation?'),
  SideroLinkConfig: kind('1.12', 'apiUrl uniqueToken'),
  SysctlConfig: kind('1.14', 'params{}'),
  SysfsConfig: kind('1.14', 'params{}'),
  TrustedRootsConfig: kind('1.12', 'name certificates'),
  UdevRulesConfig: kind('1.14', 'rules[]'),
  UnattendedInstallConfig: kind(
    '1.14',
    'reboot? installer{image} provisioning{diskSelector{match} wipe?}',
    replaces('machine.install'),
  ),
  WatchdogTimerConfig: kind('1.12', 'device timeout@'),
};

/** What all programs of Kubernetes take. */
const program = 'extraArgs{~} resources{~}';

const clusterKinds: Readonly<Record<string, Kind>> = {
  DiscoveryIdentityConfig: kind('1.14', 'clusterID clusterSecret', replaces('cluster.id cluster.secret')),
  DiscoveryServiceConfig: kind('1.14', 'name endpoint', replaces('cluster.discovery')),
  KubeAPIServerCAConfig: kind('1.14', 'issuingCA{cert key} acceptedCAs[]', replaces('cluster.ca')),
  KubeAPIServerConfig: controlPlaneKind(
    `image ${program} env{} apiPort# certExtraSANs[] startupProbes?`,
    'cluster.apiServer cluster.controlPlane.localAPIServerPort',
  ),
  KubeAdmissionControlConfig: controlPlaneKind('name configuration{~}', 'cluster.apiServer.admissionControl'),
  KubeAggregatorCAConfig: controlPlaneKind('issuingCA{cert key} acceptedCAs[]', 'cluster.aggregatorCA'),
  KubeAuditPolicyConfig: controlPlaneKind('configuration{~}', 'cluster.apiServer.auditPolicy'),
  KubeAuthenticationConfig: controlPlaneKind('configuration{~}'),
  KubeAuthorizerConfig: controlPlaneKind(
    'name type webhook{~}',
    'cluster.apiServer.admissionControl cluster.apiServer.authorizationConfig',
  ),
  KubeClusterConfig: kind(
    '1.14',
    'clusterName endpoint',
    replaces('cluster.clusterName cluster.controlPlane.endpoint'),
  ),
  KubeControllerManagerConfig: controlPlaneKind(
    `enabled? image ${program} env{}`,
    'cluster.controllerManager machine.controlPlane.controllerManager',
  ),
  KubeCoreDNSConfig: controlPlaneKind('enabled? image', 'cluster.coreDNS'),
  KubeCredentialProviderConfig: kind('1.14', 'configuration{~}', replaces('machine.kubelet')),
  KubeEtcdEncryptionConfig: controlPlaneKind(
    'config{~}',
    'cluster.secretboxEncryptionSecret cluster.aescbcEncryptionSecret',
  ),
  KubeExternalManifestConfig: kind('1.14', 'name headers{} url'),
  KubeFlannelCNIConfig: controlPlaneKind(
    'backendType backendPort# backendMTU# backendExtraConfig{~} resources{~} extraArgs[] kubeNetworkPoliciesEnabled?',
    'cluster.network',
  ),
  KubeInlineManifestConfig: kind('1.14', 'name manifest'),
  KubeNetworkConfig: kind(
    '1.14',
    'dnsDomain podSubnets[/] serviceSubnets[/] nodeCIDRMaskSizeIPv4# nodeCIDRMaskSizeIPv6#',
    replaces('cluster.network'),
  ),
  KubeNodeConfig: kind(
    '1.14',
    'skipNodeRegistration? registerWithFQDN? nodeIP{validSubnets[]} labels{} annotations{} taints{}',
    replaces(
      'cluster.allowSchedulingOnControlPlanes machine.kubelet.skipNodeRegistration machine.kubelet.registerWithFQDN ' +
        'machine.kubelet.nodeIP machine.nodeLabels machine.nodeAnnotations',
    ),
  ),
  KubePrismConfig: kind('1.14', 'port# tlsServerName', replaces('machine.features.kubePrism')),
  KubeProxyConfig: controlPlaneKind(`enabled? image mode config{~} ${program}`, 'cluster.proxy'),
  KubeSchedulerConfig: controlPlaneKind(
    `enabled? image config{~} ${program} env{}`,
    'cluster.scheduler machine.controlPlane.scheduler',
  ),
  KubeServiceAccountConfig: controlPlaneKind(
    'issuer{privateKey issuerURL} accepted{publicKeys[] issuers[] audiences[]}',
    'cluster.serviceAccount',
  ),
  KubeStaticPodConfig: kind('1.14', 'name pod{~}'),
  KubeTalosAPIAccessConfig: controlPlaneKind(
    'allowedRoles[] allowedKubernetesNamespaces[]',
    'machine.features.kubernetesTalosAPIAccess',
  ),
  KubeletConfig: kind(
    '1.14',
    'image config{~} extraArgs{~} extraMounts~ clusterDNS[] defaultRuntimeSeccompProfileEnabled?',
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
