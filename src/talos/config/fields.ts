/**
 * The keys that a document may hold. An empty object is a value that is not looked into; `*` stands for any key of a
 * map and for the elements of a list.
 */
export interface Fields {
  readonly [key: string]: Fields;
}

const anything: Fields = {};
const fields = (names: string): Fields => Object.fromEntries(names.split(' ').map((name) => [name, anything]));
const listOf = (element: Fields): Fields => ({ '*': element });
const mapOf = listOf;

const certificate = fields('crt key');
const selector = fields('busPath hardwareAddr permanentAddr pciID driver physical');
const routes = listOf(fields('network gateway source metric mtu'));
const dhcpOptions = fields('routeMetric ipv4 ipv6 duidv6');
const vip: Fields = { ...fields('ip'), equinixMetal: fields('apiToken'), hcloud: fields('apiToken') };

const networkInterface: Fields = {
  ...fields('interface addresses mtu dhcp ignore dummy'),
  deviceSelector: selector,
  routes,
  dhcpOptions,
  vip,
  bond: {
    ...fields(
      'interfaces arpIPTarget mode xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary ' +
        'primaryReselect failOverMac adSelect miimon updelay downdelay arpInterval resendIgmp minLinks lpInterval ' +
        'packetsPerSlave numPeerNotif tlbDynamicLb allSlavesActive useCarrier adActorSysPrio adUserPortKey peerNotifyDelay',
    ),
    deviceSelectors: listOf(selector),
  },
  bridge: { ...fields('interfaces'), stp: fields('enabled'), vlan: fields('vlanFiltering') },
  bridgePort: fields('master'),
  vlans: listOf({ ...fields('addresses dhcp vlanId mtu'), routes, vip, dhcpOptions }),
  wireguard: {
    ...fields('privateKey listenPort firewallMark'),
    peers: listOf(fields('publicKey endpoint persistentKeepaliveInterval allowedIPs')),
  },
};

const network: Fields = {
  ...fields('hostname nameservers searchDomains disableSearchDomain'),
  interfaces: listOf(networkInterface),
  extraHostEntries: listOf(fields('ip aliases')),
  kubespan: {
    ...fields('enabled advertiseKubernetesNetworks allowDownPeerBypass harvestExtraEndpoints mtu'),
    filters: fields('endpoints excludeAdvertisedNetworks'),
  },
};

const kubelet: Fields = {
  ...fields(
    'image clusterDNS extraArgs extraMounts extraConfig credentialProviderConfig defaultRuntimeSeccompProfileEnabled ' +
      'registerWithFQDN skipNodeRegistration disableManifestsDirectory',
  ),
  nodeIP: fields('validSubnets'),
};

const install: Fields = {
  ...fields('disk extraKernelArgs image wipe legacyBIOSSupport grubUseUKICmdline'),
  diskSelector: fields('size name model serial modalias uuid wwid type busPath'),
  extensions: listOf(fields('image')),
};

const features: Fields = {
  ...fields('rbac stableHostname apidCheckExtKeyUsage diskQuotaSupport nodeAddressSortAlgorithm'),
  kubernetesTalosAPIAccess: fields('enabled allowedRoles allowedKubernetesNamespaces'),
  kubePrism: fields('enabled port'),
  hostDNS: fields('enabled forwardKubeDNSToHost resolveMemberNames'),
  imageCache: fields('localEnabled'),
};

const encryption: Fields = {
  ...fields('provider cipher keySize blockSize options'),
  keys: listOf({
    ...fields('slot nodeID tpm lockToSTATE'),
    static: fields('passphrase'),
    kms: fields('endpoint'),
  }),
};

const machine: Fields = {
  ...fields(
    'type token certSANs pods env sysctls sysfs baseRuntimeSpecOverrides nodeLabels nodeAnnotations nodeTaints',
  ),
  ca: certificate,
  acceptedCAs: listOf(certificate),
  controlPlane: { controllerManager: fields('disabled'), scheduler: fields('disabled') },
  kubelet,
  network,
  install,
  features,
  disks: listOf({ ...fields('device'), partitions: listOf(fields('size mountpoint')) }),
  files: listOf(fields('content permissions path op')),
  time: fields('disabled servers bootTimeout'),
  registries: {
    mirrors: mapOf(fields('endpoints overridePath skipFallback')),
    config: mapOf({
      tls: { ...fields('ca insecureSkipVerify'), clientIdentity: certificate },
      auth: fields('username password auth identityToken'),
    }),
  },
  systemDiskEncryption: { state: encryption, ephemeral: encryption },
  udev: fields('rules'),
  logging: { destinations: listOf(fields('endpoint format extraTags')) },
  kernel: { modules: listOf(fields('name parameters')) },
  seccompProfiles: listOf(fields('name value')),
};

const component: Fields = {
  ...fields('image extraArgs env resources'),
  extraVolumes: listOf(fields('hostPath mountPath readonly')),
};

const cluster: Fields = {
  ...fields(
    'id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret extraManifests extraManifestHeaders ' +
      'allowSchedulingOnControlPlanes allowSchedulingOnMasters',
  ),
  controlPlane: fields('endpoint localAPIServerPort'),
  network: {
    ...fields('dnsDomain podSubnets serviceSubnets'),
    cni: { ...fields('name urls'), flannel: fields('extraArgs kubeNetworkPoliciesEnabled') },
  },
  ca: certificate,
  acceptedCAs: listOf(certificate),
  aggregatorCA: certificate,
  serviceAccount: fields('key'),
  apiServer: {
    ...component,
    ...fields('certSANs disablePodSecurityPolicy auditPolicy'),
    admissionControl: listOf(fields('name configuration')),
    authorizationConfig: listOf(fields('type name webhook')),
  },
  controllerManager: component,
  scheduler: { ...component, ...fields('config') },
  proxy: fields('disabled image mode extraArgs'),
  discovery: {
    ...fields('enabled'),
    registries: { kubernetes: fields('disabled'), service: fields('disabled endpoint') },
  },
  etcd: { ...fields('image extraArgs subnet advertisedSubnets listenSubnets'), ca: certificate },
  coreDNS: fields('disabled image'),
  externalCloudProvider: fields('enabled manifests'),
  inlineManifests: listOf(fields('name contents')),
  adminKubeconfig: fields('certLifetime'),
};

/** The main document, with what is deprecated and still accepted (`config/types/v1alpha1` of Talos 1.12 to 1.14). */
export const mainFields: Fields = { ...fields('version debug persist'), machine, cluster };
