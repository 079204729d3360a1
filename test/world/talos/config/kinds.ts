import { extend, list, mapOf, type Shape, type Struct, struct } from './shape.ts';

/** A document kind: the first Talos minor that knows it (1.x), and its keys besides apiVersion and kind. */
export interface Kind {
  readonly since: number;
  readonly shape: Struct;
  /** Until which minor exclusive some keys are unknown: key → first minor. */
  readonly later?: Readonly<Record<string, number>>;
  /** Refused on workers. */
  readonly controlPlaneOnly?: boolean;
}

const addresses = list(struct('address', { routePriority: 'int' }));
const routes = list(struct('destination gateway source table', { metric: 'int', mtu: 'int' }));
const link = struct('name', { up: 'bool', mtu: 'int', addresses, routes, multicast: 'bool' });
const hardware = extend(link, { hardwareAddr: 'text', links: list('text') });
const match = struct('match');
const encryption = struct('provider cipher', {
  keys: list(
    struct('', {
      slot: 'int',
      static: struct('passphrase'),
      nodeID: struct(''),
      kms: struct('endpoint'),
      tpm: struct('', {
        options: struct('', { pcrs: list('int') }),
        checkSecurebootStatusOnEnroll: 'bool',
      }),
      lockToState: 'bool',
    }),
  ),
  keySize: 'int',
  blockSize: 'int',
  options: list('text'),
  allowDiscards: 'bool',
});
const provisioning = struct('minSize maxSize', { diskSelector: match, grow: 'bool' });
const mount = { readOnly: 'bool', disableAccessTime: 'bool', secure: 'bool' } as const;
const upkeep = struct('interval', { enabled: 'bool' });
const hostDns = struct('', { enabled: 'bool', forwardKubeDNSToHost: 'bool', resolveMemberNames: 'bool' });
const authority = struct('', { issuingCA: struct('cert key'), acceptedCAs: list('text') });
const env = mapOf('text');

const of = (since: number, texts: string, others: Readonly<Record<string, Shape>> = {}): Kind => ({
  since,
  shape: struct(texts, others),
});
const onControlPlane = (texts: string, others: Readonly<Record<string, Shape>> = {}): Kind => ({
  ...of(14, texts, others),
  controlPlaneOnly: true,
});

/** Every kind with its keys (talos: pkg/machinery/config/schemas/config.schema.json, v1.13.9 and v1.14.0-rc.1). */
export const kinds: Readonly<Record<string, Kind>> = {
  SideroLinkConfig: of(5, 'apiUrl uniqueToken'),
  EventSinkConfig: of(5, 'endpoint'),
  KmsgLogConfig: of(5, 'name url'),
  WatchdogTimerConfig: of(7, 'device timeout'),
  TrustedRootsConfig: of(7, 'name certificates'),
  ExtensionServiceConfig: of(7, 'name', {
    configFiles: list(struct('content mountPath')),
    environment: list('text'),
  }),
  NetworkDefaultActionConfig: of(6, 'ingress'),
  NetworkRuleConfig: of(6, 'name', {
    portSelector: struct('protocol', { ports: list('any') }),
    ingress: list(struct('subnet except')),
  }),
  KubeSpanEndpointsConfig: of(7, '', { extraAnnouncedEndpoints: list('text') }),
  VolumeConfig: {
    ...of(8, 'name', {
      provisioning,
      encryption,
      mount: struct('', mount),
      filesystem: 'any',
      trim: upkeep,
      scrub: upkeep,
    }),
    later: { filesystem: 14, trim: 14, scrub: 14 },
  },
  UserVolumeConfig: {
    ...of(10, 'name volumeType', {
      provisioning,
      filesystem: struct('type', { projectQuotaSupport: 'bool', xfs: struct('minAllocationGroupSize') }),
      encryption,
      mount: struct('', mount),
      trim: upkeep,
      scrub: upkeep,
    }),
    later: { trim: 14, scrub: 14 },
  },
  EthernetConfig: of(10, 'name', {
    features: mapOf('bool'),
    rings: 'any',
    channels: 'any',
    wakeOnLan: list('text'),
  }),
  PCIDriverRebindConfig: of(10, 'name targetDriver'),
  RawVolumeConfig: of(11, 'name', { provisioning, encryption }),
  ExistingVolumeConfig: of(11, 'name', {
    discovery: struct('', { volumeSelector: match }),
    mount: struct('', mount),
    trim: upkeep,
    scrub: upkeep,
  }),
  SwapVolumeConfig: of(11, 'name', { provisioning, encryption }),
  ZswapConfig: of(11, '', { maxPoolPercent: 'int', shrinkerEnabled: 'bool' }),
  HostnameConfig: of(12, 'auto hostname'),
  LinkConfig: { since: 12, shape: link },
  LinkAliasConfig: of(12, 'name', { selector: match }),
  BondConfig: {
    since: 12,
    shape: extend(hardware, Object.fromEntries(bondKeys().map((key) => [key, 'any' as Shape]))),
  },
  BridgeConfig: {
    since: 12,
    shape: extend(hardware, { stp: struct('', { enabled: 'bool' }), vlan: struct('', { filtering: 'bool' }) }),
  },
  VLANConfig: { since: 12, shape: extend(link, { vlanID: 'int', vlanMode: 'text', parent: 'text' }) },
  DummyLinkConfig: { since: 12, shape: extend(link, { hardwareAddr: 'text' }) },
  WireguardConfig: {
    since: 12,
    shape: extend(link, { privateKey: 'text', listenPort: 'int', firewallMark: 'int', peers: list('any') }),
  },
  DHCPv4Config: {
    ...of(12, 'name clientIdentifier duidRaw', { routeMetric: 'int', ignoreHostname: 'bool', ignoreRoutes: 'bool' }),
    later: { ignoreRoutes: 14 },
  },
  DHCPv6Config: of(12, 'name clientIdentifier duidRaw', { routeMetric: 'int', ignoreHostname: 'bool' }),
  Layer2VIPConfig: of(12, 'name link'),
  HCloudVIPConfig: of(12, 'name link apiToken'),
  ResolverConfig: {
    ...of(12, '', {
      nameservers: list(struct('address protocol tlsServerName')),
      searchDomains: struct('', { domains: list('text'), disableDefault: 'bool' }),
      hostDNS: hostDns,
    }),
    later: { hostDNS: 14 },
  },
  StaticHostConfig: of(12, 'name', { hostnames: list('text') }),
  TimeSyncConfig: of(12, 'bootTimeout', {
    enabled: 'bool',
    ntp: struct('', { servers: list('text'), useNTS: 'bool' }),
    ptp: struct('', { devices: list('text') }),
  }),
  RegistryMirrorConfig: of(12, 'name', {
    endpoints: list(struct('url', { overridePath: 'bool' })),
    skipFallback: 'bool',
  }),
  RegistryAuthConfig: of(12, 'name username password auth identityToken'),
  RegistryTLSConfig: of(12, 'name ca', { clientIdentity: struct('cert key'), insecureSkipVerify: 'bool' }),
  OOMConfig: of(12, 'triggerExpression cgroupRankingExpression sampleInterval', { strictCgroupClassOrdering: 'bool' }),
  EnvironmentConfig: of(13, '', { variables: env }),
  RoutingRuleConfig: of(13, 'name src dst table iifName oifName', { action: 'int', fwMark: 'int', fwMask: 'int' }),
  BlackholeRouteConfig: of(13, 'name', { metric: 'int' }),
  VRFConfig: { since: 13, shape: extend(hardware, { table: 'text' }) },
  TCPProbeConfig: of(13, 'name interval endpoint timeout', { failureThreshold: 'int' }),
  KubeSpanConfig: of(13, '', {
    enabled: 'bool',
    advertiseKubernetesNetworks: 'bool',
    allowDownPeerBypass: 'bool',
    harvestExtraEndpoints: 'bool',
    mtu: 'int',
    filters: struct('', { endpoints: list('text'), excludeAdvertisedNetworks: list('text') }),
  }),
  ExternalVolumeConfig: of(13, 'name filesystemType', {
    mount: struct('', { ...mount, virtiofs: struct('tag') }),
  }),
  ImageVerificationConfig: of(13, '', { rules: list('any') }),
  DiscoveryIdentityConfig: of(14, 'clusterID clusterSecret'),
  DiscoveryServiceConfig: of(14, 'name endpoint'),
  UnattendedInstallConfig: of(14, '', {
    reboot: 'bool',
    installer: struct('image'),
    provisioning: struct('', { diskSelector: match, wipe: 'bool' }),
  }),
  FilesystemTrimConfig: of(14, 'interval'),
  FilesystemScrubConfig: of(14, 'interval'),
  SecurityProfileConfig: of(14, '', { workloadIsolation: 'bool' }),
  EtcFileConfig: of(14, 'name contents', { mode: 'int' }),
  CRICustomizationConfig: of(14, 'name content'),
  CRIBaseRuntimeSpecConfig: of(14, '', { overrides: 'any' }),
  ImageCacheConfig: of(14, '', { local: struct('', { enabled: 'bool' }) }),
  KernelModuleConfig: of(14, 'name', { parameters: list('text') }),
  SysctlConfig: of(14, '', { params: mapOf('text') }),
  SysfsConfig: of(14, '', { params: mapOf('text') }),
  UdevRulesConfig: of(14, '', { rules: list('text') }),
  VethConfig: { since: 14, shape: extend(link, { peer: link }) },
  HTTPProbeConfig: of(14, 'name interval url timeout', { failureThreshold: 'int' }),
  BGPInstanceConfig: of(14, 'name vrf routerID routeSource', {
    localASN: 'int',
    advertise: list('text'),
    multipath: 'bool',
    maxPaths: 'int',
    installRoutes: 'bool',
    importRoutes: list('any'),
    neighbors: list('any'),
  }),
  LVMVolumeGroupConfig: of(14, 'name', { provisioning: 'any' }),
  LVMLogicalVolumeConfig: of(14, 'name type', { mirrors: 'int', stripes: 'int', provisioning: 'any' }),
  RAIDArrayConfig: of(14, 'name level metadata', { provisioning: 'any' }),
  ContainerConfig: of(14, 'name image workingDir', {
    entrypoint: list('text'),
    args: list('text'),
    runAs: 'any',
    environment: list('text'),
    mounts: list('any'),
    security: 'any',
    network: 'any',
    resources: 'any',
    dependsOn: 'any',
  }),
  KubeClusterConfig: of(14, 'clusterName endpoint'),
  KubeNodeConfig: of(14, '', {
    skipNodeRegistration: 'bool',
    registerWithFQDN: 'bool',
    nodeIP: struct('', { validSubnets: list('text') }),
    labels: env,
    annotations: env,
    taints: env,
  }),
  KubeletConfig: of(14, 'image', {
    config: 'any',
    extraArgs: mapOf('argument'),
    clusterDNS: list('text'),
    defaultRuntimeSeccompProfileEnabled: 'bool',
  }),
  KubeCredentialProviderConfig: of(14, '', { configuration: 'any' }),
  KubeNetworkConfig: of(14, 'dnsDomain', {
    podSubnets: list('text'),
    serviceSubnets: list('text'),
    nodeCIDRMaskSizeIPv4: 'int',
    nodeCIDRMaskSizeIPv6: 'int',
  }),
  KubeAPIServerCAConfig: { since: 14, shape: authority },
  KubePrismConfig: of(14, 'tlsServerName', { port: 'int' }),
  KubeStaticPodConfig: of(14, 'name', { pod: 'any' }),
  KubeAggregatorCAConfig: { since: 14, shape: authority, controlPlaneOnly: true },
  KubeAdmissionControlConfig: onControlPlane('name', { configuration: 'any' }),
  KubeAuditPolicyConfig: onControlPlane('', { configuration: 'any' }),
  KubeAuthenticationConfig: onControlPlane('', { configuration: 'any' }),
  KubeAuthorizerConfig: onControlPlane('name type', { webhook: 'any' }),
  KubeEtcdEncryptionConfig: onControlPlane('', { config: 'any' }),
  KubeServiceAccountConfig: onControlPlane('', {
    issuer: struct('privateKey issuerURL'),
    accepted: struct('', { publicKeys: list('text'), issuers: list('text'), audiences: list('text') }),
  }),
  KubeAPIServerConfig: onControlPlane('image', {
    extraArgs: mapOf('argument'),
    env,
    resources: 'any',
    apiPort: 'int',
    certExtraSANs: list('text'),
    startupProbes: 'bool',
  }),
  KubeControllerManagerConfig: onControlPlane('image', {
    enabled: 'bool',
    extraArgs: mapOf('argument'),
    env,
    resources: 'any',
  }),
  KubeSchedulerConfig: onControlPlane('image', {
    enabled: 'bool',
    config: 'any',
    extraArgs: mapOf('argument'),
    env,
    resources: 'any',
  }),
  KubeProxyConfig: onControlPlane('image mode', {
    enabled: 'bool',
    config: 'any',
    extraArgs: mapOf('argument'),
    resources: 'any',
  }),
  KubeFlannelCNIConfig: onControlPlane('backendType', {
    backendPort: 'int',
    backendMTU: 'int',
    backendExtraConfig: 'any',
    resources: 'any',
    extraArgs: list('text'),
    kubeNetworkPoliciesEnabled: 'bool',
  }),
  KubeCoreDNSConfig: onControlPlane('image', { enabled: 'bool' }),
  KubeInlineManifestConfig: onControlPlane('name manifest'),
  KubeExternalManifestConfig: onControlPlane('name url', { headers: env }),
  KubeTalosAPIAccessConfig: onControlPlane('', {
    allowedRoles: list('text'),
    allowedKubernetesNamespaces: list('text'),
  }),
};

function bondKeys(): string[] {
  return [
    ...['bondMode', 'miimon', 'updelay', 'downdelay', 'useCarrier', 'xmitHashPolicy', 'arpInterval', 'arpIpTargets'],
    ...['nsIp6Targets', 'arpValidate', 'arpAllTargets', 'lacpRate', 'failOverMac', 'adSelect', 'adActorSysPrio'],
    ...['adUserPortKey', 'adLACPActive', 'primaryReselect', 'resendIGMP', 'minLinks', 'lpInterval', 'packetsPerSlave'],
    ...['numPeerNotif', 'peerNotifDelay', 'tlbLogicalLb', 'allSlavesActive', 'missedMax'],
  ];
}
