import { because } from './because.ts';
import {
  fileName,
  hostName,
  httpsUrl,
  isOwnLabel,
  isOwnRegistry,
  labelText,
  listedModule,
  moduleParameter,
  oneLine,
  podSecurityOnly,
  taintText,
  truth,
  volumeMount,
  wholeNumber,
  words,
} from './checks.ts';
import { isTuning, kubeletSettings } from './names.ts';
import { flagsOf } from './programs.ts';
import { below, type Right, right } from './right.ts';

/** What `machine.registries.mirrors.*` and RegistryMirrorConfig have in common. */
export const mirror: readonly Right[] = [
  right('overridePath', because.ownImages, { value: truth }),
  right('skipFallback', because.ownImages, { value: truth }),
];

const machine: readonly Right[] = [
  right('nodeLabels.*', because.ownNodes, { key: isOwnLabel, value: labelText, removable: true }),
  right('nodeAnnotations.*', because.ownNodes, { key: isOwnLabel, removable: true }),
  right('nodeTaints.*', because.ownNodes, { key: isOwnLabel, value: taintText, removable: true }),
  right('sysctls.*', because.tuning, {
    key: isTuning,
    value: oneLine,
    removable: true,
  }),
  right('kernel.modules.[].name', because.ownModules, { value: listedModule }),
  right('kernel.modules.[].parameters.[]', because.ownModules, { value: moduleParameter }),
  ...kubeletSettings.map((key) => right(`kubelet.extraConfig.${key}`, because.ownRoom)),
  ...below('kubelet', flagsOf('kubelet')),
  right('kubelet.clusterDNS.[]', because.ownDns, { value: hostName }),
  right('kubelet.extraMounts.[]', because.ownVolumes, { value: volumeMount }),
  right('kubelet.defaultRuntimeSeccompProfileEnabled', because.narrower, { value: words('true') }),
  right('seccompProfiles.[].name', because.profiles, { value: fileName }),
  right('seccompProfiles.[].value', because.profiles),
  right('features.kubePrism.enabled', because.ownApi, { value: truth }),
  right('features.kubePrism.port', because.ownApi, { value: wholeNumber }),
  right('features.hostDNS.forwardKubeDNSToHost', because.ownDns, { value: truth }),
  right('registries.mirrors.*.endpoints.[]', because.ownImages, { key: isOwnRegistry, value: httpsUrl }),
  ...below('registries.mirrors.*', mirror).map((one) => ({ ...one, key: isOwnRegistry })),
  right('registries.config.*.auth', because.ownImages, { key: isOwnRegistry }),
  right('registries.config.*.tls.ca', because.ownImages, { key: isOwnRegistry }),
  right('registries.config.*.tls.clientIdentity', because.ownImages, { key: isOwnRegistry }),
];

const cluster: readonly Right[] = [
  right('allowSchedulingOnControlPlanes', because.scheduling, { value: truth }),
  right('network.cni.name', because.ownNetwork, { value: words('flannel', 'none') }),
  right('network.cni.flannel.kubeNetworkPoliciesEnabled', because.ownNetwork, { value: truth }),
  right('coreDNS.disabled', because.ownDns, { value: truth }),
  right('proxy.disabled', because.ownNetwork, { value: truth }),
  right('proxy.mode', because.ownNetwork, { value: words('iptables', 'ipvs', 'nftables') }),
  ...below('proxy', flagsOf('proxy')),
  right('inlineManifests.[].name', because.ownObjects, { value: oneLine }),
  right('inlineManifests.[].contents', because.ownObjects),
  ...below('apiServer', flagsOf('apiServer')),
  right('apiServer.certSANs.[]', because.ownApi, { value: hostName }),
  right('apiServer.resources', because.ownRoom),
  right('apiServer.admissionControl.[]', because.security, { value: podSecurityOnly }),
  ...below('controllerManager', flagsOf('controllerManager')),
  right('controllerManager.resources', because.ownRoom),
  ...below('scheduler', flagsOf('scheduler')),
  right('scheduler.resources', because.ownRoom),
  right('scheduler.config.profiles', because.scheduling),
  ...below('etcd', flagsOf('etcd')),
];

/** In the main document. */
export const mainRights: readonly Right[] = [...below('machine', machine), ...below('cluster', cluster)];
