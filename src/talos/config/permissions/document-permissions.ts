import { allowedKubeletSettings, isAllowedSysctl } from './allowed-names.ts';
import { flagPermissions } from './component-flags.ts';
import { registryMirrorPermissions } from './main-document-permissions.ts';
import { allow, type DocumentKindPermissions } from './patch-permission.ts';
import { permissionReasons } from './permission-reasons.ts';
import {
  allowedModuleName,
  hostNameOrAddress,
  httpsUrl,
  isUserLabel,
  moduleParameter,
  oneOfWords,
  podSecurityPlugin,
  singleLineText,
  taintValueText,
  trueOrFalse,
  userRegistry,
  userVolumeMount,
  wholeNumber,
} from './value-checks.ts';

const userRegistryOnly = { path: 'name', check: userRegistry };
const namePermission = allow('name', permissionReasons.name);

/** Permissions in documents beside the main one, by kind. Documents of any other kind are rejected. */
export const documentPermissions: Readonly<Record<string, DocumentKindPermissions>> = {
  SysctlConfig: {
    permissions: [
      allow('params.*', permissionReasons.tuning, {
        key: isAllowedSysctl,
        value: singleLineText,
        removable: true,
      }),
    ],
  },
  KernelModuleConfig: {
    permissions: [namePermission, allow('parameters.[]', permissionReasons.ownModules, { value: moduleParameter })],
    whole: { path: 'name', check: allowedModuleName },
  },
  ZswapConfig: {
    permissions: [
      allow('maxPoolPercent', permissionReasons.ownCapacity, { value: wholeNumber }),
      allow('shrinkerEnabled', permissionReasons.ownCapacity, { value: trueOrFalse }),
    ],
  },
  RegistryMirrorConfig: {
    permissions: [
      namePermission,
      allow('endpoints.[].url', permissionReasons.ownImages, { value: httpsUrl }),
      allow('endpoints.[].overridePath', permissionReasons.ownImages, { value: trueOrFalse }),
      ...registryMirrorPermissions.filter(({ path }) => path === 'skipFallback'),
    ],
    whole: userRegistryOnly,
  },
  RegistryAuthConfig: {
    permissions: [
      namePermission,
      ...['username', 'password', 'auth', 'identityToken'].map((path) => allow(path, permissionReasons.ownImages)),
    ],
    whole: userRegistryOnly,
  },
  RegistryTLSConfig: {
    permissions: [namePermission, ...['ca', 'clientIdentity'].map((path) => allow(path, permissionReasons.ownImages))],
    whole: userRegistryOnly,
  },
  KubeNodeConfig: {
    permissions: [
      allow('labels.*', permissionReasons.ownNodes, { key: isUserLabel, removable: true }),
      allow('annotations.*', permissionReasons.ownNodes, { key: isUserLabel, removable: true }),
      allow('taints.*', permissionReasons.ownNodes, { key: isUserLabel, value: taintValueText, removable: true }),
    ],
  },
  KubeletConfig: {
    permissions: [
      ...allowedKubeletSettings.map((key) => allow(`config.${key}`, permissionReasons.ownCapacity)),
      ...flagPermissions('kubelet'),
      allow('clusterDNS.[]', permissionReasons.ownDns, { value: hostNameOrAddress }),
      allow('extraMounts.[]', permissionReasons.ownVolumes, { value: userVolumeMount }),
      allow('defaultRuntimeSeccompProfileEnabled', permissionReasons.narrower, { value: oneOfWords('true') }),
    ],
  },
  KubePrismConfig: { permissions: [allow('port', permissionReasons.ownApi, { value: wholeNumber })] },
  KubeAPIServerConfig: {
    permissions: [
      ...flagPermissions('apiServer'),
      allow('certExtraSANs.[]', permissionReasons.ownApi, { value: hostNameOrAddress }),
      allow('resources', permissionReasons.ownCapacity),
    ],
  },
  KubeAdmissionControlConfig: {
    permissions: [namePermission, allow('configuration', permissionReasons.security)],
    whole: { path: '', check: podSecurityPlugin },
  },
  KubeControllerManagerConfig: {
    permissions: [...flagPermissions('controllerManager'), allow('resources', permissionReasons.ownCapacity)],
  },
  KubeSchedulerConfig: {
    permissions: [
      ...flagPermissions('scheduler'),
      allow('resources', permissionReasons.ownCapacity),
      allow('config.profiles', permissionReasons.scheduling),
    ],
  },
  KubeProxyConfig: {
    permissions: [
      allow('enabled', permissionReasons.ownNetwork, { value: trueOrFalse }),
      allow('mode', permissionReasons.ownNetwork, { value: oneOfWords('iptables', 'ipvs', 'nftables') }),
      ...flagPermissions('proxy'),
      allow('resources', permissionReasons.ownCapacity),
    ],
  },
  KubeCoreDNSConfig: { permissions: [allow('enabled', permissionReasons.ownDns, { value: trueOrFalse })] },
  KubeFlannelCNIConfig: {
    permissions: [
      ...['backendMTU', 'backendPort'].map((path) => allow(path, permissionReasons.ownNetwork, { value: wholeNumber })),
      allow('kubeNetworkPoliciesEnabled', permissionReasons.ownNetwork, { value: trueOrFalse }),
      allow('resources', permissionReasons.ownCapacity),
    ],
  },
  KubeInlineManifestConfig: {
    permissions: [namePermission, allow('manifest', permissionReasons.ownObjects)],
  },
};
