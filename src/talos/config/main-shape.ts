import { type Keys, shapeOf } from './shape.ts';

const certificate = 'crt= key=';
const selector = 'busPath hardwareAddr permanentAddr pciID driver physical?';
const onLink = 'addresses[] mtu# dhcp? dhcpOptions{routeMetric# ipv4? ipv6? duidv6}';
const routed = 'routes[network gateway source metric# mtu#] vip{ip equinixMetal{apiToken} hcloud{apiToken}}';

const bond =
  'interfaces[] arpIPTarget[] mode xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary ' +
  'primaryReselect failOverMac adSelect miimon# updelay# downdelay# arpInterval# resendIgmp# minLinks# lpInterval# ' +
  'packetsPerSlave# numPeerNotif# tlbDynamicLb# allSlavesActive# useCarrier? adActorSysPrio# adUserPortKey# ' +
  `peerNotifyDelay# deviceSelectors[${selector}]`;

const networkInterface =
  `interface ignore? dummy? ${onLink} ${routed} deviceSelector{${selector}} bond{${bond}} ` +
  'bridge{interfaces[] stp{enabled?} vlan{vlanFiltering?}} bridgePort{master} ' +
  `vlans[vlanId# ${onLink} ${routed}] ` +
  'wireguard{privateKey listenPort# firewallMark# peers[publicKey endpoint persistentKeepaliveInterval@ allowedIPs[]]}';

const network =
  `hostname nameservers[] searchDomains[] disableSearchDomain? interfaces[${networkInterface}] ` +
  'extraHostEntries[ip aliases[]] ' +
  'kubespan{enabled? advertiseKubernetesNetworks? allowDownPeerBypass? harvestExtraEndpoints? mtu# ' +
  'filters{endpoints[] excludeAdvertisedNetworks[]}}';

const mapping = '[containerID# hostID# size#]';
const kubelet =
  'image clusterDNS[] extraArgs{~} extraConfig{~} credentialProviderConfig{~} defaultRuntimeSeccompProfileEnabled? ' +
  'registerWithFQDN? skipNodeRegistration? disableManifestsDirectory? nodeIP{validSubnets[]} ' +
  `extraMounts[destination type source options[] uidMappings${mapping} gidMappings${mapping}]`;

const install =
  'disk image wipe? legacyBIOSSupport? grubUseUKICmdline? extraKernelArgs[] extensions[image] ' +
  'diskSelector{size~ name model serial modalias uuid wwid type busPath}';

const features =
  'rbac? stableHostname? apidCheckExtKeyUsage? diskQuotaSupport? nodeAddressSortAlgorithm kubePrism{enabled? port#} ' +
  'kubernetesTalosAPIAccess{enabled? allowedRoles[] allowedKubernetesNamespaces[]} ' +
  'hostDNS{enabled? forwardKubeDNSToHost? resolveMemberNames?} imageCache{localEnabled?}';

const encryption =
  'provider cipher keySize# blockSize# options[] ' + 'keys[slot# static{passphrase} nodeID{~} kms{endpoint} tpm{~}]';

const registries =
  'mirrors{*endpoints[] overridePath? skipFallback?} ' +
  `config{*tls{ca= insecureSkipVerify? clientIdentity{${certificate}}} auth{username password auth identityToken}}`;

const machine =
  `type token ca{${certificate}} acceptedCAs[crt=] certSANs[] pods[~] env{} sysctls{} sysfs{} ` +
  'baseRuntimeSpecOverrides{~} nodeLabels{} nodeAnnotations{} nodeTaints{} ' +
  'controlPlane{controllerManager{disabled?} scheduler{disabled?}} ' +
  `kubelet{${kubelet}} network{${network}} install{${install}} features{${features}} registries{${registries}} ` +
  'disks[device partitions[size~ mountpoint]] files[content permissions# path op] ' +
  'time{disabled? servers[] bootTimeout@} udev{rules[]} kernel{modules[name parameters[]]} ' +
  `systemDiskEncryption{state{${encryption}} ephemeral{${encryption}}} ` +
  'logging{destinations[endpoint~ format extraTags{}]} seccompProfiles[name value{~}]';

const component = 'image extraArgs{~} env{} resources{~} extraVolumes[hostPath mountPath readonly?]';

const cluster =
  'id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret controlPlane{endpoint localAPIServerPort#} ' +
  'network{dnsDomain podSubnets[] serviceSubnets[] cni{name urls[] flannel{extraArgs[] kubeNetworkPoliciesEnabled?}}} ' +
  `ca{${certificate}} acceptedCAs[crt=] aggregatorCA{${certificate}} serviceAccount{key=} ` +
  `apiServer{${component} certSANs[] disablePodSecurityPolicy? auditPolicy{~} admissionControl[name configuration{~}] ` +
  'authorizationConfig[type name webhook{~}]} ' +
  `controllerManager{${component}} scheduler{${component} config{~}} proxy{disabled? image mode extraArgs{~}} ` +
  'discovery{enabled? registries{kubernetes{disabled?} service{disabled? endpoint}}} ' +
  `etcd{image extraArgs{~} subnet advertisedSubnets[] listenSubnets[] ca{${certificate}}} coreDNS{disabled? image} ` +
  'externalCloudProvider{enabled? manifests[]} extraManifests[] extraManifestHeaders{} inlineManifests[name contents] ' +
  'adminKubeconfig{certLifetime@} allowSchedulingOnControlPlanes? allowSchedulingOnMasters?';

/** The main document, with what is deprecated and still accepted (`config/types/v1alpha1` of Talos 1.12 to 1.14). */
export const mainShape: Keys = shapeOf(`version debug? persist? machine{${machine}} cluster{${cluster}}`);
