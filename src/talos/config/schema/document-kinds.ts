import { type ObjectValueSchema, parseValueSchema } from './value-schema.ts';

/** A kind of document beside the main one. */
export interface DocumentKind {
  /** The first supported Talos minor that knows it. */
  readonly since: '1.12' | '1.13' | '1.14';
  /** The fields beside `apiVersion` and `kind`. */
  readonly shape: ObjectValueSchema;
  /** Only for control planes: Talos rejects it on a worker. */
  readonly controlPlaneOnly?: boolean;
  /** Equivalent paths of the main document: Talos rejects both together. */
  readonly conflicts?: readonly string[];
}

const splitWords = (text: string): readonly string[] => text.split(' ');

function defineKind(
  since: DocumentKind['since'],
  shape: string,
  extra: Omit<DocumentKind, 'since' | 'shape'> = {},
): DocumentKind {
  return { since, shape: parseValueSchema(shape), ...extra };
}

const defineControlPlaneKind = (shape: string, conflicts = ''): DocumentKind =>
  defineKind('1.14', shape, { controlPlaneOnly: true, ...(conflicts ? { conflicts: splitWords(conflicts) } : {}) });

const replacesFields = (conflicts: string) => ({ conflicts: splitWords(conflicts) });
const linkFields =
  'up? mtu# addresses[address/ routePriority#] routes[destination/ gateway^ source^ metric# mtu# table] multicast?';
const probeFields = 'name interval@ failureThreshold# timeout@';

const networkKinds: Readonly<Record<string, DocumentKind>> = {
  BGPInstanceConfig: defineKind(
    '1.14',
    'name vrf localASN# routerID^ routeSource^ advertise[] multipath? maxPaths# installRoutes? importRoutes[bgpInstance prefixes[/]] ' +
      'neighbors[address^ link peerASN# localASN# passive? holdTime@ bfd{transmitInterval@ receiveInterval@ detectMultiplier#}]',
  ),
  BlackholeRouteConfig: defineKind('1.13', 'name metric#'),
  BondConfig: defineKind(
    '1.12',
    'name hardwareAddr links[] bondMode(balance-rr|active-backup|balance-xor|broadcast|802.3ad|balance-tlb|balance-alb) miimon# updelay# downdelay# useCarrier? xmitHashPolicy(layer2|layer3+4|layer2+3|encap2+3|encap3+4) arpInterval# arpIpTargets[^] ' +
      'nsIp6Targets[^] arpValidate(none|active|backup|all|filter|filter-active|filter-backup) arpAllTargets(any|all) ' +
      'lacpRate(slow|fast) failOverMac(none|active|follow) adSelect(stable|bandwidth|count) adActorSysPrio# adUserPortKey# adLACPActive(on|off) ' +
      'primaryReselect(always|better|failure) resendIGMP# minLinks# lpInterval# packetsPerSlave# numPeerNotif# tlbLogicalLb# allSlavesActive# ' +
      `peerNotifDelay# missedMax# ${linkFields}`,
  ),
  BridgeConfig: defineKind('1.12', `name hardwareAddr links[] stp{enabled?} vlan{filtering?} ${linkFields}`),
  DHCPv4Config: defineKind(
    '1.12',
    'name routeMetric# ignoreHostname? ignoreRoutes? clientIdentifier(none|mac|duid) duidRaw',
  ),
  DHCPv6Config: defineKind('1.12', 'name routeMetric# ignoreHostname? clientIdentifier(none|mac|duid) duidRaw'),
  DummyLinkConfig: defineKind('1.12', `name hardwareAddr ${linkFields}`),
  EthernetConfig: defineKind(
    '1.12',
    'name features{?} rings{rx# tx# rx-mini# rx-jumbo# rx-buf-len# cqe-size# tx-push? rx-push? tx-push-buf-len# tcp-data-split?} ' +
      'channels{rx# tx# other# combined#} wakeOnLan[]',
  ),
  HCloudVIPConfig: defineKind('1.12', 'name link apiToken'),
  HTTPProbeConfig: defineKind('1.14', `${probeFields} url`),
  HostnameConfig: defineKind(
    '1.12',
    'auto(stable|off) hostname',
    replacesFields('machine.network.hostname machine.features.stableHostname'),
  ),
  KubeSpanConfig: defineKind(
    '1.13',
    'enabled? advertiseKubernetesNetworks? allowDownPeerBypass? harvestExtraEndpoints? mtu# ' +
      'filters{endpoints[] excludeAdvertisedNetworks[/]}',
    replacesFields('machine.network.kubespan'),
  ),
  KubeSpanEndpointsConfig: defineKind('1.12', 'extraAnnouncedEndpoints[]'),
  Layer2VIPConfig: defineKind('1.12', 'name link'),
  LinkAliasConfig: defineKind('1.12', 'name selector{match}'),
  LinkConfig: defineKind('1.12', `name ${linkFields}`),
  NetworkDefaultActionConfig: defineKind('1.12', 'ingress(accept|block)'),
  NetworkRuleConfig: defineKind(
    '1.12',
    'name portSelector{ports[] protocol(tcp|udp|icmp|icmpv6)} ingress[subnet/ except/]',
  ),
  ResolverConfig: defineKind(
    '1.12',
    'nameservers[address^ protocol(Do53|DoT|DoH) tlsServerName] searchDomains{domains[] disableDefault?} ' +
      'hostDNS{enabled? forwardKubeDNSToHost? resolveMemberNames?}',
    replacesFields('machine.network.nameservers machine.network.searchDomains machine.network.disableSearchDomain'),
  ),
  RoutingRuleConfig: defineKind('1.13', 'name src/ dst/ table action~ iifName oifName fwMark# fwMask#'),
  StaticHostConfig: defineKind('1.12', 'name hostnames[]'),
  TCPProbeConfig: defineKind('1.13', `${probeFields} endpoint`),
  TimeSyncConfig: defineKind(
    '1.12',
    'enabled? bootTimeout@ ntp{servers[] useNTS?} ptp{devices[]}',
    replacesFields('machine.time.servers machine.time.bootTimeout'),
  ),
  VLANConfig: defineKind('1.12', `name vlanID# vlanMode(802.1q|802.1ad) parent ${linkFields}`),
  VRFConfig: defineKind('1.13', `name hardwareAddr links[] table ${linkFields}`),
  VethConfig: defineKind('1.14', `name peer{name ${linkFields}} ${linkFields}`),
  WireguardConfig: defineKind(
    '1.12',
    `name privateKey listenPort# firewallMark# peers[publicKey presharedKey endpoint persistentKeepaliveInterval@ allowedIPs[/]] ${linkFields}`,
  ),
};

const encryptionFields =
  'encryption{provider cipher keySize# blockSize# options[] allowDiscards? ' +
  'keys[slot# static{passphrase} nodeID{~} kms{endpoint} lockToState? ' +
  'tpm{options{pcrs[#]} checkSecurebootStatusOnEnroll?}]}';
const provisioningFields = `provisioning{diskSelector{match} grow? minSize maxSize} ${encryptionFields}`;
const mountFields = 'disableAccessTime? secure?';
const maintenanceFields = 'trim{enabled? interval@} scrub{enabled? interval@}';
const xfsFields = 'xfs{minAllocationGroupSize}';

const storageKinds: Readonly<Record<string, DocumentKind>> = {
  ExistingVolumeConfig: defineKind(
    '1.12',
    `name discovery{volumeSelector{match}} mount{readOnly? ${mountFields}} ${maintenanceFields}`,
  ),
  ExternalVolumeConfig: defineKind('1.13', `name filesystemType mount{readOnly? ${mountFields} virtiofs{tag}}`),
  FilesystemScrubConfig: defineKind('1.14', 'interval@'),
  FilesystemTrimConfig: defineKind('1.14', 'interval@'),
  LVMLogicalVolumeConfig: defineKind('1.14', 'name type mirrors# stripes# provisioning{volumeGroup minSize maxSize}'),
  LVMVolumeGroupConfig: defineKind('1.14', 'name provisioning{volumeSelector{match}}'),
  RAIDArrayConfig: defineKind('1.14', 'name level metadata provisioning{volumeSelector{match}}'),
  RawVolumeConfig: defineKind('1.12', `name ${provisioningFields}`),
  SwapVolumeConfig: defineKind('1.12', `name ${provisioningFields}`),
  UserVolumeConfig: defineKind(
    '1.12',
    `name volumeType ${provisioningFields} filesystem{type projectQuotaSupport? ${xfsFields}} mount{${mountFields}} ${maintenanceFields}`,
  ),
  VolumeConfig: defineKind(
    '1.12',
    `name ${provisioningFields} filesystem{${xfsFields}} mount{${mountFields}} ${maintenanceFields}`,
  ),
  ZswapConfig: defineKind('1.12', 'maxPoolPercent# shrinkerEnabled?'),
};

const runtimeKinds: Readonly<Record<string, DocumentKind>> = {
  CRIBaseRuntimeSpecConfig: defineKind('1.14', 'overrides{~}', replacesFields('machine.baseRuntimeSpecOverrides')),
  CRICustomizationConfig: defineKind('1.14', 'name content'),
  ContainerConfig: defineKind(
    '1.14',
    'name image entrypoint[] args[] workingDir runAs{uid# gid#} environment[] ' +
      'mounts[userVolume{name destination options~} tmpfs{destination size options[]} hostPath{source destination options[]}] ' +
      'security{profile capabilities{add[] drop[]}} network{mode} resources{limits{cpu memory}} ' +
      'dependsOn{paths[] networks~ time? containers[]}',
  ),
  EnvironmentConfig: defineKind('1.13', 'variables{}'),
  EtcFileConfig: defineKind('1.14', 'name mode# contents'),
  EventSinkConfig: defineKind('1.12', 'endpoint'),
  ExtensionServiceConfig: defineKind('1.12', 'name configFiles[content mountPath] environment[]'),
  ImageCacheConfig: defineKind('1.14', 'local{enabled?}', replacesFields('machine.features.imageCache')),
  ImageVerificationConfig: defineKind('1.13', 'rules~'),
  KernelModuleConfig: defineKind('1.14', 'name parameters[]'),
  KmsgLogConfig: defineKind('1.12', 'name url'),
  OOMConfig: defineKind('1.12', 'triggerExpression cgroupRankingExpression strictCgroupClassOrdering? sampleInterval@'),
  PCIDriverRebindConfig: defineKind('1.12', 'name targetDriver'),
  RegistryAuthConfig: defineKind('1.12', 'name username password auth identityToken'),
  RegistryMirrorConfig: defineKind('1.12', 'name endpoints[url overridePath?] skipFallback?'),
  RegistryTLSConfig: defineKind('1.12', 'name clientIdentity{cert key} ca insecureSkipVerify?'),
  SecurityProfileConfig: defineKind('1.14', 'workloadIsolation?'),
  SideroLinkConfig: defineKind('1.12', 'apiUrl uniqueToken'),
  SysctlConfig: defineKind('1.14', 'params{}'),
  SysfsConfig: defineKind('1.14', 'params{}'),
  TrustedRootsConfig: defineKind('1.12', 'name certificates'),
  UdevRulesConfig: defineKind('1.14', 'rules[]'),
  UnattendedInstallConfig: defineKind(
    '1.14',
    'reboot? installer{image} provisioning{diskSelector{match} wipe?}',
    replacesFields('machine.install'),
  ),
  WatchdogTimerConfig: defineKind('1.12', 'device timeout@'),
};

/** The common fields of all programs of Kubernetes. */
const componentFields = 'extraArgs{~} resources{~}';

const clusterKinds: Readonly<Record<string, DocumentKind>> = {
  DiscoveryIdentityConfig: defineKind('1.14', 'clusterID clusterSecret', replacesFields('cluster.id cluster.secret')),
  DiscoveryServiceConfig: defineKind('1.14', 'name endpoint', replacesFields('cluster.discovery')),
  KubeAPIServerCAConfig: defineKind('1.14', 'issuingCA{cert key} acceptedCAs[]', replacesFields('cluster.ca')),
  KubeAPIServerConfig: defineControlPlaneKind(
    `image ${componentFields} env{} apiPort# certExtraSANs[] startupProbes?`,
    'cluster.apiServer cluster.controlPlane.localAPIServerPort',
  ),
  KubeAdmissionControlConfig: defineControlPlaneKind('name configuration{~}', 'cluster.apiServer.admissionControl'),
  KubeAggregatorCAConfig: defineControlPlaneKind('issuingCA{cert key} acceptedCAs[]', 'cluster.aggregatorCA'),
  KubeAuditPolicyConfig: defineControlPlaneKind('configuration{~}', 'cluster.apiServer.auditPolicy'),
  KubeAuthenticationConfig: defineControlPlaneKind('configuration{~}'),
  KubeAuthorizerConfig: defineControlPlaneKind(
    'name type webhook{~}',
    'cluster.apiServer.admissionControl cluster.apiServer.authorizationConfig',
  ),
  KubeClusterConfig: defineKind(
    '1.14',
    'clusterName endpoint',
    replacesFields('cluster.clusterName cluster.controlPlane.endpoint'),
  ),
  KubeControllerManagerConfig: defineControlPlaneKind(
    `enabled? image ${componentFields} env{}`,
    'cluster.controllerManager machine.controlPlane.controllerManager',
  ),
  KubeCoreDNSConfig: defineControlPlaneKind('enabled? image', 'cluster.coreDNS'),
  KubeCredentialProviderConfig: defineKind('1.14', 'configuration{~}', replacesFields('machine.kubelet')),
  KubeEtcdEncryptionConfig: defineControlPlaneKind(
    'config{~}',
    'cluster.secretboxEncryptionSecret cluster.aescbcEncryptionSecret',
  ),
  KubeExternalManifestConfig: defineKind('1.14', 'name headers{} url'),
  KubeFlannelCNIConfig: defineControlPlaneKind(
    'backendType backendPort# backendMTU# backendExtraConfig{~} resources{~} extraArgs[] kubeNetworkPoliciesEnabled?',
    'cluster.network',
  ),
  KubeInlineManifestConfig: defineKind('1.14', 'name manifest'),
  KubeNetworkConfig: defineKind(
    '1.14',
    'dnsDomain podSubnets[/] serviceSubnets[/] nodeCIDRMaskSizeIPv4# nodeCIDRMaskSizeIPv6#',
    replacesFields('cluster.network'),
  ),
  KubeNodeConfig: defineKind(
    '1.14',
    'skipNodeRegistration? registerWithFQDN? nodeIP{validSubnets[]} labels{} annotations{} taints{}',
    replacesFields(
      'cluster.allowSchedulingOnControlPlanes machine.kubelet.skipNodeRegistration machine.kubelet.registerWithFQDN ' +
        'machine.kubelet.nodeIP machine.nodeLabels machine.nodeAnnotations',
    ),
  ),
  KubePrismConfig: defineKind('1.14', 'port# tlsServerName', replacesFields('machine.features.kubePrism')),
  KubeProxyConfig: defineControlPlaneKind(`enabled? image mode config{~} ${componentFields}`, 'cluster.proxy'),
  KubeSchedulerConfig: defineControlPlaneKind(
    `enabled? image config{~} ${componentFields} env{}`,
    'cluster.scheduler machine.controlPlane.scheduler',
  ),
  KubeServiceAccountConfig: defineControlPlaneKind(
    'issuer{privateKey issuerURL} accepted{publicKeys[] issuers[] audiences[]}',
    'cluster.serviceAccount',
  ),
  KubeStaticPodConfig: defineKind('1.14', 'name pod{~}'),
  KubeTalosAPIAccessConfig: defineControlPlaneKind(
    'allowedRoles[] allowedKubernetesNamespaces[]',
    'machine.features.kubernetesTalosAPIAccess',
  ),
  KubeletConfig: defineKind(
    '1.14',
    'image config{~} extraArgs{~} extraMounts~ clusterDNS[] defaultRuntimeSeccompProfileEnabled?',
    replacesFields('machine.kubelet'),
  ),
};

/** Every kind that Talos registers (`pkg/machinery/config/types`), except for the deprecated Equinix ones. */
export const documentKinds: Readonly<Record<string, DocumentKind>> = {
  ...networkKinds,
  ...storageKinds,
  ...runtimeKinds,
  ...clusterKinds,
};
