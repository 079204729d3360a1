import { isIP } from 'node:net';
import type { ConfigView } from './config-view.ts';
import type { MachineConfig, SimulatedConfigDocument } from './decode-config.ts';
import { simulatedDocumentKinds } from './document-kinds.ts';
import { fieldAt, listAt, textAt } from './fields.ts';
import type { ValidationContext } from './validate-config.ts';
import { isSubnet } from './validate-network.ts';

/** The rules of the documents besides v1alpha1, and between them and it. */
export function documentErrors(config: MachineConfig, view: ConfigView, context: ValidationContext): string[] {
  const own = config.documents.flatMap((document) =>
    (documentRules[document.kind]?.(document) ?? []).map((error) => `${idOf(document)}: ${error}`),
  );
  return [...own, ...conflictErrors(config), ...controlPlaneOnlyErrors(config, view, context)];
}

const idOf = (document: SimulatedConfigDocument): string =>
  document.name === '' ? document.kind : `${document.kind}/${document.name}`;

const nameErrors = (document: SimulatedConfigDocument): string[] =>
  document.name === '' ? ['name must be specified'] : [];

const documentRules: Readonly<Record<string, (document: SimulatedConfigDocument) => string[]>> = {
  HostnameConfig: hostnameErrors,
  LinkConfig: linkErrors,
  VLANConfig: linkErrors,
  BondConfig: linkErrors,
  BridgeConfig: linkErrors,
  DHCPv4Config: nameErrors,
  DHCPv6Config: nameErrors,
  LinkAliasConfig: (document) => [
    ...nameErrors(document),
    ...(textAt(document.body, 'selector.match') === '' ? ['link selector is required'] : []),
  ],
  Layer2VIPConfig: (document) => [
    ...nameErrors(document),
    ...(document.name !== '' && isIP(document.name) === 0
      ? [`name must be a valid IP address: ParseAddr("${document.name}"): unable to parse IP`]
      : []),
    ...(textAt(document.body, 'link') === '' ? ['link must be specified'] : []),
  ],
  ResolverConfig: (document) =>
    listAt(document.body, 'nameservers')
      .map((server) => textAt(server, 'address'))
      .filter((address) => isIP(address) === 0)
      .map((address) => `nameserver "${address}" must be a valid IP address`),
  WatchdogTimerConfig: (document) => (textAt(document.body, 'device') === '' ? ['watchdog device: empty value'] : []),
};

function hostnameErrors(document: SimulatedConfigDocument): string[] {
  const auto = textAt(document.body, 'auto');
  const hostname = textAt(document.body, 'hostname');
  const first = hostname.split('.')[0] ?? '';
  const errors: string[] = [];
  if (auto === '' && hostname === '') errors.push("either 'auto' or 'hostname' must be set");
  if (auto !== '' && auto !== 'off' && hostname !== '') {
    errors.push("'auto' and 'hostname' cannot be set at the same time");
  }
  if (auto !== '' && auto !== 'off' && auto !== 'stable') errors.push(`invalid value for 'auto': ${auto}`);
  if (hostname.length > 253) errors.push(`fqdn is too long: ${hostname.length}`);
  if (hostname !== '' && (first.length === 0 || first.length > 63)) errors.push(`invalid hostname "${first}"`);
  return errors;
}

function linkErrors(document: SimulatedConfigDocument): string[] {
  const addresses = listAt(document.body, 'addresses').map((item) => textAt(item, 'address'));
  return [
    ...nameErrors(document),
    ...addresses.flatMap((address, index) =>
      address === ''
        ? [`address ${index} must be specified`]
        : isSubnet(address)
          ? []
          : [`address ${index} must be a valid IP prefix`],
    ),
    ...listAt(document.body, 'routes').flatMap((route, index) => {
      const gateway = textAt(route, 'gateway');
      const destination = textAt(route, 'destination');
      return [
        ...(destination !== '' && !isSubnet(destination)
          ? [`route ${index} destination must be a valid IP prefix`]
          : []),
        ...(gateway !== '' && isIP(gateway) === 0 ? [`route ${index} gateway must be a valid IP address`] : []),
      ];
    }),
  ];
}

/** A conflict of a document with v1alpha1: kind, path there, and the node's message. */
const v1alpha1Conflicts: readonly (readonly [kind: string, path: string, sentence: string])[] = [
  ['HostnameConfig', 'machine.network.hostname', 'static hostname is already set in v1alpha1 config'],
  [
    'ResolverConfig',
    'machine.network.searchDomains',
    '.machine.network.searchDomains is already set in v1alpha1 config',
  ],
  ['ResolverConfig', 'machine.network.nameservers', '.machine.network.nameservers is already set in v1alpha1 config'],
  [
    'ResolverConfig',
    'machine.network.disableSearchDomain',
    '.machine.network.disableSearchDomain is already set in v1alpha1 config',
  ],
  [
    'TimeSyncConfig',
    'machine.time.servers',
    'time servers cannot be specified in both v1alpha1 and new-style configuration',
  ],
  [
    'TimeSyncConfig',
    'machine.time.bootTimeout',
    'boot timeout cannot be specified in both v1alpha1 and new-style configuration',
  ],
  ['KubeSpanConfig', 'machine.network.kubespan', 'kubespan is already configured in v1alpha1 machine.network.kubespan'],
  [
    'DiscoveryIdentityConfig',
    'cluster.id',
    'cluster identity is already configured in .cluster.id/.cluster.secret of the v1alpha1 config',
  ],
  [
    'DiscoveryServiceConfig',
    'cluster.discovery',
    'discovery service is already configured in .cluster.discovery of the v1alpha1 config',
  ],
  [
    'KubeAdmissionControlConfig',
    'cluster.apiServer.admissionControl',
    'admission control plugin config is already set in v1alpha1 config',
  ],
  ['KubeAuditPolicyConfig', 'cluster.apiServer.auditPolicy', 'audit policy config is already set in v1alpha1 config'],
  [
    'KubeAggregatorCAConfig',
    'cluster.aggregatorCA',
    'kube-apiserver aggregator CA is already set in v1alpha1 config (.cluster.aggregatorCA), please remove it and use the new KubeAggregatorCAConfig document instead',
  ],
  [
    'KubeAPIServerConfig',
    'cluster.apiServer',
    'kube-apiserver config is already set in v1alpha1 config (.cluster.apiServer)',
  ],
  [
    'KubeAPIServerConfig',
    'cluster.controlPlane.localAPIServerPort',
    'kube-apiserver API port is already set in v1alpha1 config (.cluster.controlPlane.localAPIServerPort)',
  ],
  ['KubeAPIServerCAConfig', 'cluster.ca', 'kube-apiserver CA is already set in v1alpha1 config (.cluster.ca)'],
  [
    'KubeClusterConfig',
    'cluster.clusterName',
    'cluster name is already set in the v1alpha1 config (.cluster.clusterName). Please remove it and use only the new KubeClusterConfig document to avoid conflicts',
  ],
  [
    'KubeClusterConfig',
    'cluster.controlPlane.endpoint',
    'cluster endpoint is already set in the v1alpha1 config (.cluster.controlPlane.endpoint). Please remove it and use only the new KubeClusterConfig document to avoid conflicts',
  ],
  [
    'KubeControllerManagerConfig',
    'cluster.controllerManager',
    'kube-controller-manager config is already set in v1alpha1 config (.cluster.controllerManager)',
  ],
  [
    'KubeSchedulerConfig',
    'cluster.scheduler',
    'kube-scheduler config is already set in v1alpha1 config (.cluster.scheduler)',
  ],
  ['KubeProxyConfig', 'cluster.proxy', 'kube-proxy config is already set in v1alpha1 config (.cluster.proxy)'],
  ['KubeCoreDNSConfig', 'cluster.coreDNS', 'CoreDNS config is already set in v1alpha1 config (.cluster.coreDNS)'],
  [
    'KubeEtcdEncryptionConfig',
    'cluster.secretboxEncryptionSecret',
    'etcd encryption config is already set in v1alpha1 config',
  ],
  [
    'KubeEtcdEncryptionConfig',
    'cluster.aescbcEncryptionSecret',
    'etcd encryption config is already set in v1alpha1 config',
  ],
  ['KubeletConfig', 'machine.kubelet', 'kubelet config is already set in v1alpha1 config (.machine.kubelet)'],
  [
    'KubeNetworkConfig',
    'cluster.network',
    'cluster network config is already set in the v1alpha1 config (.machine.cluster.network). Please remove it and use only the new KubeNetworkConfig document to avoid conflicts',
  ],
  [
    'KubeNodeConfig',
    'cluster.allowSchedulingOnControlPlanes',
    '.cluster.allowSchedulingOnControlPlanes is already set in v1alpha1 config',
  ],
  ['KubeNodeConfig', 'machine.nodeLabels', '.machine.nodeLabels is already set in v1alpha1 config'],
  ['KubeNodeConfig', 'machine.nodeAnnotations', '.machine.nodeAnnotations is already set in v1alpha1 config'],
  ['KubeNodeConfig', 'machine.nodeTaints', '.machine.nodeTaints is already set in v1alpha1 config'],
  [
    'KubeServiceAccountConfig',
    'cluster.serviceAccount',
    'service account is already set in v1alpha1 config (.cluster.serviceAccount)',
  ],
  [
    'KubeTalosAPIAccessConfig',
    'machine.features.kubernetesTalosAPIAccess',
    '.machine.features.kubernetesTalosAPIAccess is already set in v1alpha1 config',
  ],
  ['ImageCacheConfig', 'machine.features.imageCache', 'image cache config is already set in v1alpha1 config'],
];

function conflictErrors(config: MachineConfig): string[] {
  const { legacy } = config;
  if (!legacy) return [];
  const has = (kind: string): boolean => config.documents.some((document) => document.kind === kind);
  const found = v1alpha1Conflicts
    .filter(([kind, path]) => has(kind) && isThere(fieldAt(legacy, path)))
    .map(([, , sentence]) => sentence);
  if (has('HostnameConfig') && fieldAt(legacy, 'machine.features.stableHostname') === true) {
    found.push('stable hostname is already set in v1alpha1 config');
  }
  return [...new Set(found)];
}

const isThere = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);

/** Kinds for control planes only: since Talos 1.14 a worker refuses them. */
function controlPlaneOnlyErrors(config: MachineConfig, view: ConfigView, context: ValidationContext): string[] {
  if (context.minor < 14 || !config.legacy || view.type === 'controlplane' || view.type === 'init') return [];
  const wrong = config.documents
    .filter((document) => simulatedDocumentKinds[document.kind]?.controlPlaneOnly)
    .map((document) => document.kind);
  return wrong.length > 0
    ? [`the following document kinds are only allowed on control plane machines: [${[...new Set(wrong)].join(' ')}]`]
    : [];
}
