import { allowedKubeletSettings, isAllowedSysctl } from './allowed-names.ts';
import { flagPermissions } from './component-flags.ts';
import { allow, allowBelow, type PatchPermission } from './patch-permission.ts';
import { permissionReasons } from './permission-reasons.ts';
import {
  allowedModuleName,
  fileName,
  hostNameOrAddress,
  httpsUrl,
  isUserLabel,
  isUserRegistry,
  labelValueText,
  moduleParameter,
  oneOfWords,
  podSecurityPlugin,
  singleLineText,
  taintValueText,
  trueOrFalse,
  userVolumeMount,
  wholeNumber,
} from './value-checks.ts';

/** The common permissions of `machine.registries.mirrors.*` and RegistryMirrorConfig. */
export const registryMirrorPermissions: readonly PatchPermission[] = [
  allow('overridePath', permissionReasons.ownImages, { value: trueOrFalse }),
  allow('skipFallback', permissionReasons.ownImages, { value: trueOrFalse }),
];

const machinePermissions: readonly PatchPermission[] = [
  allow('nodeLabels.*', permissionReasons.ownNodes, { key: isUserLabel, value: labelValueText, removable: true }),
  allow('nodeAnnotations.*', permissionReasons.ownNodes, { key: isUserLabel, removable: true }),
  allow('nodeTaints.*', permissionReasons.ownNodes, { key: isUserLabel, value: taintValueText, removable: true }),
  allow('sysctls.*', permissionReasons.tuning, {
    key: isAllowedSysctl,
    value: singleLineText,
    removable: true,
  }),
  allow('kernel.modules.[].name', permissionReasons.ownModules, { value: allowedModuleName }),
  allow('kernel.modules.[].parameters.[]', permissionReasons.ownModules, { value: moduleParameter }),
  ...allowedKubeletSettings.map((key) => allow(`kubelet.extraConfig.${key}`, permissionReasons.ownCapacity)),
  ...allowBelow('kubelet', flagPermissions('kubelet')),
  allow('kubelet.clusterDNS.[]', permissionReasons.ownDns, { value: hostNameOrAddress }),
  allow('kubelet.extraMounts.[]', permissionReasons.ownVolumes, { value: userVolumeMount }),
  allow('kubelet.defaultRuntimeSeccompProfileEnabled', permissionReasons.narrower, { value: oneOfWords('true') }),
  allow('seccompProfiles.[].name', permissionReasons.profiles, { value: fileName }),
  allow('seccompProfiles.[].value', permissionReasons.profiles),
  allow('features.kubePrism.enabled', permissionReasons.ownApi, { value: trueOrFalse }),
  allow('features.kubePrism.port', permissionReasons.ownApi, { value: wholeNumber }),
  allow('features.hostDNS.forwardKubeDNSToHost', permissionReasons.ownDns, { value: trueOrFalse }),
  allow('registries.mirrors.*.endpoints.[]', permissionReasons.ownImages, { key: isUserRegistry, value: httpsUrl }),
  ...allowBelow('registries.mirrors.*', registryMirrorPermissions).map((one) => ({ ...one, key: isUserRegistry })),
  allow('registries.config.*.auth', permissionReasons.ownImages, { key: isUserRegistry }),
  allow('registries.config.*.tls.ca', permissionReasons.ownImages, { key: isUserRegistry }),
  allow('registries.config.*.tls.clientIdentity', permissionReasons.ownImages, { key: isUserRegistry }),
];

const clusterPermissions: readonly PatchPermission[] = [
  allow('allowSchedulingOnControlPlanes', permissionReasons.scheduling, { value: trueOrFalse }),
  allow('network.cni.name', permissionReasons.ownNetwork, { value: oneOfWords('flannel', 'none') }),
  allow('network.cni.flannel.kubeNetworkPoliciesEnabled', permissionReasons.ownNetwork, { value: trueOrFalse }),
  allow('coreDNS.disabled', permissionReasons.ownDns, { value: trueOrFalse }),
  allow('proxy.disabled', permissionReasons.ownNetwork, { value: trueOrFalse }),
  allow('proxy.mode', permissionReasons.ownNetwork, { value: oneOfWords('iptables', 'ipvs', 'nftables') }),
  ...allowBelow('proxy', flagPermissions('proxy')),
  allow('inlineManifests.[].name', permissionReasons.ownObjects, { value: singleLineText }),
  allow('inlineManifests.[].contents', permissionReasons.ownObjects),
  ...allowBelow('apiServer', flagPermissions('apiServer')),
  allow('apiServer.certSANs.[]', permissionReasons.ownApi, { value: hostNameOrAddress }),
  allow('apiServer.resources', permissionReasons.ownCapacity),
  allow('apiServer.admissionControl.[]', permissionReasons.security, { value: podSecurityPlugin }),
  ...allowBelow('controllerManager', flagPermissions('controllerManager')),
  allow('controllerManager.resources', permissionReasons.ownCapacity),
  ...allowBelow('scheduler', flagPermissions('scheduler')),
  allow('scheduler.resources', permissionReasons.ownCapacity),
  allow('scheduler.config.profiles', permissionReasons.scheduling),
  ...allowBelow('etcd', flagPermissions('etcd')),
];

/** Permissions in the main document. */
export const mainDocumentPermissions: readonly PatchPermission[] = [
  ...allowBelow('machine', machinePermissions),
  ...allowBelow('cluster', clusterPermissions),
];
