import { list, mapOf, named, type Struct, struct } from './shape.ts';

/** The v1alpha1 document, deprecated keys included (talos: pkg/machinery/config/types/v1alpha1/v1alpha1_types.go, v1.13.9). */

const pair = struct('', { crt: 'base64', key: 'base64' });
const args = mapOf('argument');
const env = mapOf('text');
const resources = struct('', { requests: 'any', limits: 'any' });
const volumes = list(struct('hostPath mountPath', { readonly: 'bool' }));
const component = { image: 'text', extraArgs: args, extraVolumes: volumes, env, resources } as const;

const selector = struct('busPath hardwareAddr permanentAddr pciID driver', { physical: 'bool' });
const routes = list(struct('network gateway source', { metric: 'int', mtu: 'int' }));
const dhcpOptions = struct('duidv6', { routeMetric: 'int', ipv4: 'bool', ipv6: 'bool' });
const vip = struct('ip', { equinixMetal: struct('apiToken'), hcloud: struct('apiToken') });

const bond = struct(
  'mode xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary primaryReselect failOverMac adSelect',
  {
    interfaces: list('text'),
    deviceSelectors: list(selector),
    arpIPTarget: list('text'),
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

const device = struct('interface cidr', {
  deviceSelector: selector,
  addresses: list('text'),
  routes,
  bond,
  bridge: struct('', {
    interfaces: list('text'),
    stp: struct('', { enabled: 'bool' }),
    vlan: struct('', { vlanFiltering: 'bool' }),
  }),
  bridgePort: struct('master'),
  vlans: list(
    struct('cidr', {
      addresses: list('text'),
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
  wireguard: struct('privateKey', {
    listenPort: 'int',
    firewallMark: 'int',
    peers: list(struct('publicKey endpoint persistentKeepaliveInterval', { allowedIPs: list('text') })),
  }),
  vip,
});

const network = struct('hostname', {
  interfaces: list(device),
  nameservers: list('text'),
  searchDomains: list('text'),
  extraHostEntries: list(struct('ip', { aliases: list('text') })),
  kubespan: struct('', {
    enabled: 'bool',
    advertiseKubernetesNetworks: 'bool',
    allowDownPeerBypass: 'bool',
    harvestExtraEndpoints: 'bool',
    mtu: 'int',
    filters: struct('', { endpoints: list('text'), excludeAdvertisedNetworks: list('text') }),
  }),
  disableSearchDomain: 'bool',
});

const kubelet = struct('image', {
  clusterDNS: list('text'),
  extraArgs: args,
  extraMounts: list('any'),
  extraConfig: 'any',
  credentialProviderConfig: 'any',
  defaultRuntimeSeccompProfileEnabled: 'bool',
  registerWithFQDN: 'bool',
  nodeIP: struct('', { validSubnets: list('text') }),
  skipNodeRegistration: 'bool',
  disableManifestsDirectory: 'bool',
});

const install = struct('disk image', {
  diskSelector: struct('size name model serial modalias uuid wwid type busPath'),
  extraKernelArgs: list('text'),
  extensions: list(struct('image')),
  bootloader: 'bool',
  wipe: 'bool',
  legacyBIOSSupport: 'bool',
  grubUseUKICmdline: 'bool',
});

const features = struct('nodeAddressSortAlgorithm', {
  rbac: 'bool',
  stableHostname: 'bool',
  apidCheckExtKeyUsage: 'bool',
  kubernetesTalosAPIAccess: struct('', {
    enabled: 'bool',
    allowedRoles: list('text'),
    allowedKubernetesNamespaces: list('text'),
  }),
  diskQuotaSupport: 'bool',
  kubePrism: struct('', { enabled: 'bool', port: 'int' }),
  hostDNS: struct('', { enabled: 'bool', forwardKubeDNSToHost: 'bool', resolveMemberNames: 'bool' }),
  imageCache: struct('', { localEnabled: 'bool' }),
});

const encryption = struct('provider cipher', {
  keys: list('any'),
  keySize: 'int',
  blockSize: 'int',
  options: list('text'),
});

const registries = struct('', {
  mirrors: mapOf(struct('', { endpoints: list('text'), overridePath: 'bool', skipFallback: 'bool' })),
  config: mapOf(
    struct('', {
      tls: struct('', { ca: 'base64', clientIdentity: pair, insecureSkipVerify: 'bool' }),
      auth: struct('username password auth identityToken'),
    }),
  ),
});

const machine = named(
  'v1alpha1.MachineConfig',
  struct('type token', {
    ca: pair,
    acceptedCAs: list(struct('', { crt: 'base64' })),
    certSANs: list('text'),
    controlPlane: struct('', {
      controllerManager: struct('', { disabled: 'bool' }),
      scheduler: struct('', { disabled: 'bool' }),
    }),
    kubelet,
    pods: list('any'),
    network,
    disks: list(struct('device', { partitions: list(struct('mountpoint', { size: 'any' })) })),
    install,
    files: list(struct('content path op', { permissions: 'int' })),
    env,
    time: struct('', { bootTimeout: 'duration', disabled: 'bool', servers: list('text') }),
    sysctls: mapOf('text'),
    sysfs: mapOf('text'),
    registries,
    systemDiskEncryption: struct('', { state: encryption, ephemeral: encryption }),
    features,
    udev: struct('', { rules: list('text') }),
    logging: struct('', { destinations: list(struct('endpoint format', { extraTags: mapOf('text') })) }),
    kernel: struct('', { modules: list(struct('name', { parameters: list('text') })) }),
    seccompProfiles: list(struct('name', { value: 'any' })),
    baseRuntimeSpecOverrides: 'any',
    nodeLabels: mapOf('text'),
    nodeAnnotations: mapOf('text'),
    nodeTaints: mapOf('text'),
  }),
);

const cluster = named(
  'v1alpha1.ClusterConfig',
  struct('id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret', {
    controlPlane: struct('endpoint', { localAPIServerPort: 'int' }),
    network: struct('dnsDomain', {
      cni: struct('name', {
        urls: list('text'),
        flannel: struct('', { extraArgs: list('text'), kubeNetworkPoliciesEnabled: 'bool' }),
      }),
      podSubnets: list('text'),
      serviceSubnets: list('text'),
    }),
    ca: pair,
    acceptedCAs: list(struct('', { crt: 'base64' })),
    aggregatorCA: pair,
    serviceAccount: struct('', { key: 'base64' }),
    apiServer: struct('', {
      ...component,
      certSANs: list('text'),
      disablePodSecurityPolicy: 'bool',
      admissionControl: list(struct('name', { configuration: 'any' })),
      auditPolicy: 'any',
      authorizationConfig: list(struct('type name', { webhook: 'any' })),
    }),
    controllerManager: struct('', component),
    proxy: struct('image mode', { disabled: 'bool', extraArgs: args }),
    scheduler: struct('', { ...component, config: 'any' }),
    discovery: struct('', {
      enabled: 'bool',
      registries: struct('', {
        kubernetes: struct('', { disabled: 'bool' }),
        service: struct('endpoint', { disabled: 'bool' }),
      }),
    }),
    etcd: struct('image subnet', {
      ca: pair,
      extraArgs: args,
      advertisedSubnets: list('text'),
      listenSubnets: list('text'),
    }),
    coreDNS: struct('image', { disabled: 'bool' }),
    externalCloudProvider: struct('', { enabled: 'bool', manifests: list('text') }),
    extraManifests: list('text'),
    extraManifestHeaders: mapOf('text'),
    inlineManifests: list(struct('name contents')),
    adminKubeconfig: struct('', { certLifetime: 'duration' }),
    allowSchedulingOnControlPlanes: 'bool',
    allowSchedulingOnMasters: 'bool',
  }),
);

export const legacyDocument: Struct = struct('version', { debug: 'bool', persist: 'bool', machine, cluster });
