import { extendStruct, listShape, mapShape, type StructShape, structShape, type ValueShape } from './value-shape.ts';

/** A document kind: the first Talos minor that supports it (1.x), and its keys besides apiVersion and kind. */
export interface SimulatedDocumentKind {
  readonly since: number;
  readonly shape: StructShape;
  /** Keys that were added later: key → first minor. */
  readonly later?: Readonly<Record<string, number>>;
  /** Refused on workers. */
  readonly controlPlaneOnly?: boolean;
}

const addresses = listShape(structShape('address', { routePriority: 'int' }));
const routes = listShape(structShape('destination gateway source table', { metric: 'int', mtu: 'int' }));
const link = structShape('name', { up: 'bool', mtu: 'int', addresses, routes, multicast: 'bool' });
const hardware = extendStruct(link, { hardwareAddr: 'text', links: listShape('text') });
const match = structShape('match');
const encryption = structShape('provider cipher', {
  keys: listShape(
    structShape('', {
      slot: 'int',
      static: structShape('passphrase'),
      nodeID: structShape(''),
      kms: structShape('endpoint'),
      tpm: structShape('', {
        options: structShape('', { pcrs: listShape('int') }),
        checkSecurebootStatusOnEnroll: 'bool',
      }),
      lockToState: 'bool',
    }),
  ),
  keySize: 'int',
  blockSize: 'int',
  options: listShape('text'),
  allowDiscards: 'bool',
});
const provisioning = structShape('minSize maxSize', { diskSelector: match, grow: 'bool' });
const mount = { readOnly: 'bool', disableAccessTime: 'bool', secure: 'bool' } as const;
const maintenanceShape = structShape('interval', { enabled: 'bool' });
const hostDns = structShape('', { enabled: 'bool', forwardKubeDNSToHost: 'bool', resolveMemberNames: 'bool' });
const authority = structShape('', { issuingCA: structShape('cert key'), acceptedCAs: listShape('text') });
const env = mapShape('text');

const kindSince = (
  since: number,
  texts: string,
  others: Readonly<Record<string, ValueShape>> = {},
): SimulatedDocumentKind => ({
  since,
  shape: structShape(texts, others),
});
const controlPlaneKindSince = (
  texts: string,
  others: Readonly<Record<string, ValueShape>> = {},
): SimulatedDocumentKind => ({
  ...kindSince(14, texts, others),
  controlPlaneOnly: true,
});

/** Every kind with its keys (talos: pkg/machinery/config/schemas/config.schema.json, v1.13.9 and v1.14.0-rc.1). */
export const simulatedDocumentKinds: Readonly<Record<string, SimulatedDocumentKind>> = {
  SideroLinkConfig: kindSince(5, 'apiUrl uniqueToken'),
  EventSinkConfig: kindSince(5, 'endpoint'),
  KmsgLogConfig: kindSince(5, 'name url'),
  WatchdogTimerConfig: kindSince(7, 'device timeout'),
  TrustedRootsConfig: kindSince(7, 'name certificates'),
  ExtensionServiceConfig: kindSince(7, 'name', {
    configFiles: listShape(structShape('content mountPath')),
    environment: listShape('text'),
  }),
  NetworkDefaultActionConfig: kindSince(6, 'ingress'),
  NetworkRuleConfig: kindSince(6, 'name', {
    portSelector: structShape('protocol', { ports: listShape('any') }),
    ingress: listShape(structShape('subnet except')),
  }),
  KubeSpanEndpointsConfig: kindSince(7, '', { extraAnnouncedEndpoints: listShape('text') }),
  VolumeConfig: {
    ...kindSince(8, 'name', {
      provisioning,
      encryption,
      mount: structShape('', mount),
      filesystem: 'any',
      trim: maintenanceShape,
      scrub: maintenanceShape,
    }),
    later: { filesystem: 14, trim: 14, scrub: 14 },
  },
  UserVolumeConfig: {
    ...kindSince(10, 'name volumeType', {
      provisioning,
      filesystem: structShape('type', { projectQuotaSupport: 'bool', xfs: structShape('minAllocationGroupSize') }),
      encryption,
      mount: structShape('', mount),
      trim: maintenanceShape,
      scrub: maintenanceShape,
    }),
    later: { trim: 14, scrub: 14 },
  },
  EthernetConfig: kindSince(10, 'name', {
    features: mapShape('bool'),
    rings: 'any',
    channels: 'any',
    wakeOnLan: listShape('text'),
  }),
  PCIDriverRebindConfig: kindSince(10, 'name targetDriver'),
  RawVolumeConfig: kindSince(11, 'name', { provisioning, encryption }),
  ExistingVolumeConfig: kindSince(11, 'name', {
    discovery: structShape('', { volumeSelector: match }),
    mount: structShape('', mount),
    trim: maintenanceShape,
    scrub: maintenanceShape,
  }),
  SwapVolumeConfig: kindSince(11, 'name', { provisioning, encryption }),
  ZswapConfig: kindSince(11, '', { maxPoolPercent: 'int', shrinkerEnabled: 'bool' }),
  HostnameConfig: kindSince(12, 'auto hostname'),
  LinkConfig: { since: 12, shape: link },
  LinkAliasConfig: kindSince(12, 'name', { selector: match }),
  BondConfig: {
    since: 12,
    shape: extendStruct(hardware, Object.fromEntries(bondKeys().map((key) => [key, 'any' as ValueShape]))),
  },
  BridgeConfig: {
    since: 12,
    shape: extendStruct(hardware, {
      stp: structShape('', { enabled: 'bool' }),
      vlan: structShape('', { filtering: 'bool' }),
    }),
  },
  VLANConfig: { since: 12, shape: extendStruct(link, { vlanID: 'int', vlanMode: 'text', parent: 'text' }) },
  DummyLinkConfig: { since: 12, shape: extendStruct(link, { hardwareAddr: 'text' }) },
  WireguardConfig: {
    since: 12,
    shape: extendStruct(link, { privateKey: 'text', listenPort: 'int', firewallMark: 'int', peers: listShape('any') }),
  },
  DHCPv4Config: {
    ...kindSince(12, 'name clientIdentifier duidRaw', {
      routeMetric: 'int',
      ignoreHostname: 'bool',
      ignoreRoutes: 'bool',
    }),
    later: { ignoreRoutes: 14 },
  },
  DHCPv6Config: kindSince(12, 'name clientIdentifier duidRaw', { routeMetric: 'int', ignoreHostname: 'bool' }),
  Layer2VIPConfig: kindSince(12, 'name link'),
  HCloudVIPConfig: kindSince(12, 'name link apiToken'),
  ResolverConfig: {
    ...kindSince(12, '', {
      nameservers: listShape(structShape('address protocol tlsServerName')),
      searchDomains: structShape('', { domains: listShape('text'), disableDefault: 'bool' }),
      hostDNS: hostDns,
    }),
    later: { hostDNS: 14 },
  },
  StaticHostConfig: kindSince(12, 'name', { hostnames: listShape('text') }),
  TimeSyncConfig: kindSince(12, 'bootTimeout', {
    enabled: 'bool',
    ntp: structShape('', { servers: listShape('text'), useNTS: 'bool' }),
    ptp: structShape('', { devices: listShape('text') }),
  }),
  RegistryMirrorConfig: kindSince(12, 'name', {
    endpoints: listShape(structShape('url', { overridePath: 'bool' })),
    skipFallback: 'bool',
  }),
  RegistryAuthConfig: kindSince(12, 'name username password auth identityToken'),
  RegistryTLSConfig: kindSince(12, 'name ca', { clientIdentity: structShape('cert key'), insecureSkipVerify: 'bool' }),
  OOMConfig: kindSince(12, 'triggerExpression cgroupRankingExpression sampleInterval', {
    strictCgroupClassOrdering: 'bool',
  }),
  EnvironmentConfig: kindSince(13, '', { variables: env }),
  RoutingRuleConfig: kindSince(13, 'name src dst table iifName oifName', {
    action: 'int',
    fwMark: 'int',
    fwMask: 'int',
  }),
  BlackholeRouteConfig: kindSince(13, 'name', { metric: 'int' }),
  VRFConfig: { since: 13, shape: extendStruct(hardware, { table: 'text' }) },
  TCPProbeConfig: kindSince(13, 'name interval endpoint timeout', { failureThreshold: 'int' }),
  KubeSpanConfig: kindSince(13, '', {
    enabled: 'bool',
    advertiseKubernetesNetworks: 'bool',
    allowDownPeerBypass: 'bool',
    harvestExtraEndpoints: 'bool',
    mtu: 'int',
    filters: structShape('', { endpoints: listShape('text'), excludeAdvertisedNetworks: listShape('text') }),
  }),
  ExternalVolumeConfig: kindSince(13, 'name filesystemType', {
    mount: structShape('', { ...mount, virtiofs: structShape('tag') }),
  }),
  ImageVerificationConfig: kindSince(13, '', { rules: listShape('any') }),
  DiscoveryIdentityConfig: kindSince(14, 'clusterID clusterSecret'),
  DiscoveryServiceConfig: kindSince(14, 'name endpoint'),
  UnattendedInstallConfig: kindSince(14, '', {
    reboot: 'bool',
    installer: structShape('image'),
    provisioning: structShape('', { diskSelector: match, wipe: 'bool' }),
  }),
  FilesystemTrimConfig: kindSince(14, 'interval'),
  FilesystemScrubConfig: kindSince(14, 'interval'),
  SecurityProfileConfig: kindSince(14, '', { workloadIsolation: 'bool' }),
  EtcFileConfig: kindSince(14, 'name contents', { mode: 'int' }),
  CRICustomizationConfig: kindSince(14, 'name content'),
  CRIBaseRuntimeSpecConfig: kindSince(14, '', { overrides: 'any' }),
  ImageCacheConfig: kindSince(14, '', { local: structShape('', { enabled: 'bool' }) }),
  KernelModuleConfig: kindSince(14, 'name', { parameters: listShape('text') }),
  SysctlConfig: kindSince(14, '', { params: mapShape('text') }),
  SysfsConfig: kindSince(14, '', { params: mapShape('text') }),
  UdevRulesConfig: kindSince(14, '', { rules: listShape('text') }),
  VethConfig: { since: 14, shape: extendStruct(link, { peer: link }) },
  HTTPProbeConfig: kindSince(14, 'name interval url timeout', { failureThreshold: 'int' }),
  BGPInstanceConfig: kindSince(14, 'name vrf routerID routeSource', {
    localASN: 'int',
    advertise: listShape('text'),
    multipath: 'bool',
    maxPaths: 'int',
    installRoutes: 'bool',
    importRoutes: listShape('any'),
    neighbors: listShape('any'),
  }),
  LVMVolumeGroupConfig: kindSince(14, 'name', { provisioning: 'any' }),
  LVMLogicalVolumeConfig: kindSince(14, 'name type', { mirrors: 'int', stripes: 'int', provisioning: 'any' }),
  RAIDArrayConfig: kindSince(14, 'name level metadata', { provisioning: 'any' }),
  ContainerConfig: kindSince(14, 'name image workingDir', {
    entrypoint: listShape('text'),
    args: listShape('text'),
    runAs: 'any',
    environment: listShape('text'),
    mounts: listShape('any'),
    security: 'any',
    network: 'any',
    resources: 'any',
    dependsOn: 'any',
  }),
  KubeClusterConfig: kindSince(14, 'clusterName endpoint'),
  KubeNodeConfig: kindSince(14, '', {
    skipNodeRegistration: 'bool',
    registerWithFQDN: 'bool',
    nodeIP: structShape('', { validSubnets: listShape('text') }),
    labels: env,
    annotations: env,
    taints: env,
  }),
  KubeletConfig: kindSince(14, 'image', {
    config: 'any',
    extraArgs: mapShape('argument'),
    clusterDNS: listShape('text'),
    defaultRuntimeSeccompProfileEnabled: 'bool',
  }),
  KubeCredentialProviderConfig: kindSince(14, '', { configuration: 'any' }),
  KubeNetworkConfig: kindSince(14, 'dnsDomain', {
    podSubnets: listShape('text'),
    serviceSubnets: listShape('text'),
    nodeCIDRMaskSizeIPv4: 'int',
    nodeCIDRMaskSizeIPv6: 'int',
  }),
  KubeAPIServerCAConfig: { since: 14, shape: authority },
  KubePrismConfig: kindSince(14, 'tlsServerName', { port: 'int' }),
  KubeStaticPodConfig: kindSince(14, 'name', { pod: 'any' }),
  KubeAggregatorCAConfig: { since: 14, shape: authority, controlPlaneOnly: true },
  KubeAdmissionControlConfig: controlPlaneKindSince('name', { configuration: 'any' }),
  KubeAuditPolicyConfig: controlPlaneKindSince('', { configuration: 'any' }),
  KubeAuthenticationConfig: controlPlaneKindSince('', { configuration: 'any' }),
  KubeAuthorizerConfig: controlPlaneKindSince('name type', { webhook: 'any' }),
  KubeEtcdEncryptionConfig: controlPlaneKindSince('', { config: 'any' }),
  KubeServiceAccountConfig: controlPlaneKindSince('', {
    issuer: structShape('privateKey issuerURL'),
    accepted: structShape('', {
      publicKeys: listShape('text'),
      issuers: listShape('text'),
      audiences: listShape('text'),
    }),
  }),
  KubeAPIServerConfig: controlPlaneKindSince('image', {
    extraArgs: mapShape('argument'),
    env,
    resources: 'any',
    apiPort: 'int',
    certExtraSANs: listShape('text'),
    startupProbes: 'bool',
  }),
  KubeControllerManagerConfig: controlPlaneKindSince('image', {
    enabled: 'bool',
    extraArgs: mapShape('argument'),
    env,
    resources: 'any',
  }),
  KubeSchedulerConfig: controlPlaneKindSince('image', {
    enabled: 'bool',
    config: 'any',
    extraArgs: mapShape('argument'),
    env,
    resources: 'any',
  }),
  KubeProxyConfig: controlPlaneKindSince('image mode', {
    enabled: 'bool',
    config: 'any',
    extraArgs: mapShape('argument'),
    resources: 'any',
  }),
  KubeFlannelCNIConfig: controlPlaneKindSince('backendType', {
    backendPort: 'int',
    backendMTU: 'int',
    backendExtraConfig: 'any',
    resources: 'any',
    extraArgs: listShape('text'),
    kubeNetworkPoliciesEnabled: 'bool',
  }),
  KubeCoreDNSConfig: controlPlaneKindSince('image', { enabled: 'bool' }),
  KubeInlineManifestConfig: controlPlaneKindSince('name manifest'),
  KubeExternalManifestConfig: controlPlaneKindSince('name url', { headers: env }),
  KubeTalosAPIAccessConfig: controlPlaneKindSince('', {
    allowedRoles: listShape('text'),
    allowedKubernetesNamespaces: listShape('text'),
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
