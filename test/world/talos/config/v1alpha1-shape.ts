import { listShape, mapShape, namedStruct, type StructShape, structShape } from './value-shape.ts';

/** The v1alpha1 document, deprecated keys included (talos: pkg/machinery/config/types/v1alpha1/v1alpha1_types.go, v1.13.9). */

const pair = structShape('', { crt: 'base64', key: 'base64' });
const args = mapShape('argument');
const env = mapShape('text');
const resources = structShape('', { requests: 'any', limits: 'any' });
const volumes = listShape(structShape('hostPath mountPath', { readonly: 'bool' }));
const component = { image: 'text', extraArgs: args, extraVolumes: volumes, env, resources } as const;

const selector = structShape('busPath hardwareAddr permanentAddr pciID driver', { physical: 'bool' });
const routes = listShape(structShape('network gateway source', { metric: 'int', mtu: 'int' }));
const dhcpOptions = structShape('duidv6', { routeMetric: 'int', ipv4: 'bool', ipv6: 'bool' });
const vip = structShape('ip', { equinixMetal: structShape('apiToken'), hcloud: structShape('apiToken') });

const bond = structShape(
  'mode xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary primaryReselect failOverMac adSelect',
  {
    interfaces: listShape('text'),
    deviceSelectors: listShape(selector),
    arpIPTarget: listShape('text'),
    miimon: 'int',
    updelay: 'int',
    downdelay: 'int',
    arpInterval: 'int',
    resendIgmp: 'int',
    minLinks: 'int',
    lpInterval: 'int',
    packetsPerSlave: 'int',
    numPeerNotif: 'int',
    tlbDynamicLb: 'int',
    allSlavesActive: 'int',
    useCarrier: 'bool',
    adActorSysPrio: 'int',
    adUserPortKey: 'int',
    peerNotifyDelay: 'int',
  },
);

const device = structShape('interface cidr', {
  deviceSelector: selector,
  addresses: listShape('text'),
  routes,
  bond,
  bridge: structShape('', {
    interfaces: listShape('text'),
    stp: structShape('', { enabled: 'bool' }),
    vlan: structShape('', { vlanFiltering: 'bool' }),
  }),
  bridgePort: structShape('master'),
  vlans: listShape(
    structShape('cidr', {
      addresses: listShape('text'),
      routes,
      dhcp: 'bool',
      vlanId: 'int',
      mtu: 'int',
      vip,
      dhcpOptions,
    }),
  ),
  mtu: 'int',
  dhcp: 'bool',
  ignore: 'bool',
  dummy: 'bool',
  dhcpOptions,
  wireguard: structShape('privateKey', {
    listenPort: 'int',
    firewallMark: 'int',
    peers: listShape(structShape('publicKey endpoint persistentKeepaliveInterval', { allowedIPs: listShape('text') })),
  }),
  vip,
});

const network = structShape('hostname', {
  interfaces: listShape(device),
  nameservers: listShape('text'),
  searchDomains: listShape('text'),
  extraHostEntries: listShape(structShape('ip', { aliases: listShape('text') })),
  kubespan: structShape('', {
    enabled: 'bool',
    advertiseKubernetesNetworks: 'bool',
    allowDownPeerBypass: 'bool',
    harvestExtraEndpoints: 'bool',
    mtu: 'int',
    filters: structShape('', { endpoints: listShape('text'), excludeAdvertisedNetworks: listShape('text') }),
  }),
  disableSearchDomain: 'bool',
});

const kubelet = structShape('image', {
  clusterDNS: listShape('text'),
  extraArgs: args,
  extraMounts: listShape('any'),
  extraConfig: 'any',
  credentialProviderConfig: 'any',
  defaultRuntimeSeccompProfileEnabled: 'bool',
  registerWithFQDN: 'bool',
  nodeIP: structShape('', { validSubnets: listShape('text') }),
  skipNodeRegistration: 'bool',
  disableManifestsDirectory: 'bool',
});

const install = structShape('disk image', {
  diskSelector: structShape('size name model serial modalias uuid wwid type busPath'),
  extraKernelArgs: listShape('text'),
  extensions: listShape(structShape('image')),
  bootloader: 'bool',
  wipe: 'bool',
  legacyBIOSSupport: 'bool',
  grubUseUKICmdline: 'bool',
});

const features = structShape('nodeAddressSortAlgorithm', {
  rbac: 'bool',
  stableHostname: 'bool',
  apidCheckExtKeyUsage: 'bool',
  kubernetesTalosAPIAccess: structShape('', {
    enabled: 'bool',
    allowedRoles: listShape('text'),
    allowedKubernetesNamespaces: listShape('text'),
  }),
  diskQuotaSupport: 'bool',
  kubePrism: structShape('', { enabled: 'bool', port: 'int' }),
  hostDNS: structShape('', { enabled: 'bool', forwardKubeDNSToHost: 'bool', resolveMemberNames: 'bool' }),
  imageCache: structShape('', { localEnabled: 'bool' }),
});

const encryption = structShape('provider cipher', {
  keys: listShape('any'),
  keySize: 'int',
  blockSize: 'int',
  options: listShape('text'),
});

const registries = structShape('', {
  mirrors: mapShape(structShape('', { endpoints: listShape('text'), overridePath: 'bool', skipFallback: 'bool' })),
  config: mapShape(
    structShape('', {
      tls: structShape('', { ca: 'base64', clientIdentity: pair, insecureSkipVerify: 'bool' }),
      auth: structShape('username password auth identityToken'),
    }),
  ),
});

const machine = namedStruct(
  'v1alpha1.MachineConfig',
  structShape('type token', {
    ca: pair,
    acceptedCAs: listShape(structShape('', { crt: 'base64' })),
    certSANs: listShape('text'),
    controlPlane: structShape('', {
      controllerManager: structShape('', { disabled: 'bool' }),
      scheduler: structShape('', { disabled: 'bool' }),
    }),
    kubelet,
    pods: listShape('any'),
    network,
    disks: listShape(structShape('device', { partitions: listShape(structShape('mountpoint', { size: 'any' })) })),
    install,
    files: listShape(structShape('content path op', { permissions: 'int' })),
    env,
    time: structShape('', { bootTimeout: 'duration', disabled: 'bool', servers: listShape('text') }),
    sysctls: mapShape('text'),
    sysfs: mapShape('text'),
    registries,
    systemDiskEncryption: structShape('', { state: encryption, ephemeral: encryption }),
    features,
    udev: structShape('', { rules: listShape('text') }),
    logging: structShape('', {
      destinations: listShape(structShape('endpoint format', { extraTags: mapShape('text') })),
    }),
    kernel: structShape('', { modules: listShape(structShape('name', { parameters: listShape('text') })) }),
    seccompProfiles: listShape(structShape('name', { value: 'any' })),
    baseRuntimeSpecOverrides: 'any',
    nodeLabels: mapShape('text'),
    nodeAnnotations: mapShape('text'),
    nodeTaints: mapShape('text'),
  }),
);

const cluster = namedStruct(
  'v1alpha1.ClusterConfig',
  structShape('id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret', {
    controlPlane: structShape('endpoint', { localAPIServerPort: 'int' }),
    network: structShape('dnsDomain', {
      cni: structShape('name', {
        urls: listShape('text'),
        flannel: structShape('', { extraArgs: listShape('text'), kubeNetworkPoliciesEnabled: 'bool' }),
      }),
      podSubnets: listShape('text'),
      serviceSubnets: listShape('text'),
    }),
    ca: pair,
    acceptedCAs: listShape(structShape('', { crt: 'base64' })),
    aggregatorCA: pair,
    serviceAccount: structShape('', { key: 'base64' }),
    apiServer: structShape('', {
      ...component,
      certSANs: listShape('text'),
      disablePodSecurityPolicy: 'bool',
      admissionControl: listShape(structShape('name', { configuration: 'any' })),
      auditPolicy: 'any',
      authorizationConfig: listShape(structShape('type name', { webhook: 'any' })),
    }),
    controllerManager: structShape('', component),
    proxy: structShape('image mode', { disabled: 'bool', extraArgs: args }),
    scheduler: structShape('', { ...component, config: 'any' }),
    discovery: structShape('', {
      enabled: 'bool',
      registries: structShape('', {
        kubernetes: structShape('', { disabled: 'bool' }),
        service: structShape('endpoint', { disabled: 'bool' }),
      }),
    }),
    etcd: structShape('image subnet', {
      ca: pair,
      extraArgs: args,
      advertisedSubnets: listShape('text'),
      listenSubnets: listShape('text'),
    }),
    coreDNS: structShape('image', { disabled: 'bool' }),
    externalCloudProvider: structShape('', { enabled: 'bool', manifests: listShape('text') }),
    extraManifests: listShape('text'),
    extraManifestHeaders: mapShape('text'),
    inlineManifests: listShape(structShape('name contents')),
    adminKubeconfig: structShape('', { certLifetime: 'duration' }),
    allowSchedulingOnControlPlanes: 'bool',
    allowSchedulingOnMasters: 'bool',
  }),
);

export const v1alpha1Document: StructShape = structShape('version', {
  debug: 'bool',
  persist: 'bool',
  machine,
  cluster,
});
