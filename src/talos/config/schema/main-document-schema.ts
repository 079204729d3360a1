import { type ObjectValueSchema, parseValueSchema } from './value-schema.ts';

const certificateFields = 'crt= key=';
const deviceSelectorFields = 'busPath hardwareAddr permanentAddr pciID driver physical?';
const linkAddressFields = 'addresses[] mtu# dhcp? dhcpOptions{routeMetric# ipv4? ipv6? duidv6}';
const routeFields = 'routes[network gateway source metric# mtu#] vip{ip equinixMetal{apiToken} hcloud{apiToken}}';

const bondFields =
  'interfaces[] arpIPTarget[] mode xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary ' +
  'primaryReselect failOverMac adSelect miimon# updelay# downdelay# arpInterval# resendIgmp# minLinks# lpInterval# ' +
  'packetsPerSlave# numPeerNotif# tlbDynamicLb# allSlavesActive# useCarrier? adActorSysPrio# adUserPortKey# ' +
  `peerNotifyDelay# deviceSelectors[${deviceSelectorFields}]`;

const interfaceFields =
  `interface ignore? dummy? ${linkAddressFields} ${routeFields} deviceSelector{${deviceSelectorFields}} bond{${bondFields}} ` +
  'bridge{interfaces[] stp{enabled?} vlan{vlanFiltering?}} bridgePort{master} ' +
  `vlans[vlanId# ${linkAddressFields} ${routeFields}] ` +
  'wireguard{privateKey listenPort# firewallMark# peers[publicKey endpoint persistentKeepaliveInterval@ allowedIPs[]]}';

const networkFields =
  `hostname nameservers[] searchDomains[] disableSearchDomain? interfaces[${interfaceFields}] ` +
  'extraHostEntries[ip aliases[]] ' +
  'kubespan{enabled? advertiseKubernetesNetworks? allowDownPeerBypass? harvestExtraEndpoints? mtu# ' +
  'filters{endpoints[] excludeAdvertisedNetworks[]}}';

const idMappingFields = '[containerID# hostID# size#]';
const kubeletFields =
  'image clusterDNS[] extraArgs{~} extraConfig{~} credentialProviderConfig{~} defaultRuntimeSeccompProfileEnabled? ' +
  'registerWithFQDN? skipNodeRegistration? disableManifestsDirectory? nodeIP{validSubnets[]} ' +
  `extraMounts[destination type source options[] uidMappings${idMappingFields} gidMappings${idMappingFields}]`;

const installFields =
  'disk image wipe? legacyBIOSSupport? grubUseUKICmdline? extraKernelArgs[] extensions[image] ' +
  'diskSelector{size~ name model serial modalias uuid wwid type busPath}';

const featureFields =
  'rbac? stableHostname? apidCheckExtKeyUsage? diskQuotaSupport? nodeAddressSortAlgorithm kubePrism{enabled? port#} ' +
  'kubernetesTalosAPIAccess{enabled? allowedRoles[] allowedKubernetesNamespaces[]} ' +
  'hostDNS{enabled? forwardKubeDNSToHost? resolveMemberNames?} imageCache{localEnabled?}';

const encryptionFields =
  'provider cipher keySize# blockSize# options[] ' + 'keys[slot# static{passphrase} nodeID{~} kms{endpoint} tpm{~}]';

const registryFields =
  'mirrors{*endpoints[] overridePath? skipFallback?} ' +
  `config{*tls{ca= insecureSkipVerify? clientIdentity{${certificateFields}}} auth{username password auth identityToken}}`;

const machineFields =
  `type token ca{${certificateFields}} acceptedCAs[crt=] certSANs[] pods[~] env{} sysctls{} sysfs{} ` +
  'baseRuntimeSpecOverrides{~} nodeLabels{} nodeAnnotations{} nodeTaints{} ' +
  'controlPlane{controllerManager{disabled?} scheduler{disabled?}} ' +
  `kubelet{${kubeletFields}} network{${networkFields}} install{${installFields}} features{${featureFields}} registries{${registryFields}} ` +
  'disks[device partitions[size~ mountpoint]] files[content permissions# path op] ' +
  'time{disabled? servers[] bootTimeout@} udev{rules[]} kernel{modules[name parameters[]]} ' +
  `systemDiskEncryption{state{${encryptionFields}} ephemeral{${encryptionFields}}} ` +
  'logging{destinations[endpoint~ format extraTags{}]} seccompProfiles[name value{~}]';

const componentFields = 'image extraArgs{~} env{} resources{~} extraVolumes[hostPath mountPath readonly?]';

const clusterFields =
  'id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret controlPlane{endpoint localAPIServerPort#} ' +
  'network{dnsDomain podSubnets[] serviceSubnets[] cni{name urls[] flannel{extraArgs[] kubeNetworkPoliciesEnabled?}}} ' +
  `ca{${certificateFields}} acceptedCAs[crt=] aggregatorCA{${certificateFields}} serviceAccount{key=} ` +
  `apiServer{${componentFields} certSANs[] disablePodSecurityPolicy? auditPolicy{~} admissionControl[name configuration{~}] ` +
  'authorizationConfig[type name webhook{~}]} ' +
  `controllerManager{${componentFields}} scheduler{${componentFields} config{~}} proxy{disabled? image mode extraArgs{~}} ` +
  'discovery{enabled? registries{kubernetes{disabled?} service{disabled? endpoint}}} ' +
  `etcd{image extraArgs{~} subnet advertisedSubnets[] listenSubnets[] ca{${certificateFields}}} coreDNS{disabled? image} ` +
  'externalCloudProvider{enabled? manifests[]} extraManifests[] extraManifestHeaders{} inlineManifests[name contents] ' +
  'adminKubeconfig{certLifetime@} allowSchedulingOnControlPlanes? allowSchedulingOnMasters?';

/**
 * The main document, including deprecated fields that are still accepted (`config/types/v1alpha1` of Talos 1.12 to
 * 1.14).
 */
export const mainDocumentSchema: ObjectValueSchema = parseValueSchema(
  `version debug? persist? machine{${machineFields}} cluster{${clusterFields}}`,
);
