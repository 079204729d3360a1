import { because } from './because.ts';
import {
  hostName,
  httpsUrl,
  isOwnLabel,
  listedModule,
  moduleParameter,
  oneLine,
  ownRegistry,
  podSecurityOnly,
  taintText,
  truth,
  volumeMount,
  wholeNumber,
  words,
} from './checks.ts';
import { mirror } from './main-rights.ts';
import { isTuning, kubeletSettings } from './names.ts';
import { flagsOf } from './programs.ts';
import { type KindRights, right } from './right.ts';

const ofRegistry = { path: 'name', check: ownRegistry };
const name = right('name', because.name);

/** In documents beside the main one, by kind. Documents of a kind that is not here are refused. */
export const documentRights: Readonly<Record<string, KindRights>> = {
  SysctlConfig: {
    rights: [
      right('params.*', because.tuning, {
        key: isTuning,
        value: oneLine,
        removable: true,
      }),
    ],
  },
  KernelModuleConfig: {
    rights: [name, right('parameters.[]', because.ownModules, { value: moduleParameter })],
    whole: { path: 'name', check: listedModule },
  },
  ZswapConfig: {
    rights: [
      right('maxPoolPercent', because.ownRoom, { value: wholeNumber }),
      right('shrinkerEnabled', because.ownRoom, { value: truth }),
    ],
  },
  RegistryMirrorConfig: {
    rights: [
      name,
      right('endpoints.[].url', because.ownImages, { value: httpsUrl }),
      right('endpoints.[].overridePath', because.ownImages, { value: truth }),
      ...mirror.filter(({ path }) => path === 'skipFallback'),
    ],
    whole: ofRegistry,
  },
  RegistryAuthConfig: {
    rights: [name, ...['username', 'password', 'auth', 'identityToken'].map((path) => right(path, because.ownImages))],
    whole: ofRegistry,
  },
  RegistryTLSConfig: {
    rights: [name, ...['ca', 'clientIdentity'].map((path) => right(path, because.ownImages))],
    whole: ofRegistry,
  },
  KubeNodeConfig: {
    rights: [
      right('labels.*', because.ownNodes, { key: isOwnLabel, removable: true }),
      right('annotations.*', because.ownNodes, { key: isOwnLabel, removable: true }),
      right('taints.*', because.ownNodes, { key: isOwnLabel, value: taintText, removable: true }),
    ],
  },
  KubeletConfig: {
    rights: [
      ...kubeletSettings.map((key) => right(`config.${key}`, because.ownRoom)),
      ...flagsOf('kubelet'),
      right('clusterDNS.[]', because.ownDns, { value: hostName }),
      right('extraMounts.[]', because.ownVolumes, { value: volumeMount }),
      right('defaultRuntimeSeccompProfileEnabled', because.narrower, { value: words('true') }),
    ],
  },
  KubePrismConfig: { rights: [right('port', because.ownApi, { value: wholeNumber })] },
  KubeAPIServerConfig: {
    rights: [
      ...flagsOf('apiServer'),
      right('certExtraSANs.[]', because.ownApi, { value: hostName }),
      right('resources', because.ownRoom),
    ],
  },
  KubeAdmissionControlConfig: {
    rights: [name, right('configuration', because.security)],
    whole: { path: '', check: podSecurityOnly },
  },
  KubeControllerManagerConfig: { rights: [...flagsOf('controllerManager'), right('resources', because.ownRoom)] },
  KubeSchedulerConfig: {
    rights: [
      ...flagsOf('scheduler'),
      right('resources', because.ownRoom),
      right('config.profiles', because.scheduling),
    ],
  },
  KubeProxyConfig: {
    rights: [
      right('enabled', because.ownNetwork, { value: truth }),
      right('mode', because.ownNetwork, { value: words('iptables', 'ipvs', 'nftables') }),
      ...flagsOf('proxy'),
      right('resources', because.ownRoom),
    ],
  },
  KubeCoreDNSConfig: { rights: [right('enabled', because.ownDns, { value: truth })] },
  KubeFlannelCNIConfig: {
    rights: [
      ...['backendMTU', 'backendPort'].map((path) => right(path, because.ownNetwork, { value: wholeNumber })),
      right('kubeNetworkPoliciesEnabled', because.ownNetwork, { value: truth }),
      right('resources', because.ownRoom),
    ],
  },
  KubeInlineManifestConfig: {
    rights: [name, right('manifest', because.ownObjects)],
  },
};
