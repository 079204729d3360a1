import { errorList } from './config-error.ts';
import type { ConfigView } from './config-view.ts';
import { type Fields, fieldAt, fieldsAt, listAt, textAt } from './fields.ts';
import type { ConfigVerdict, ValidationContext } from './validate-config.ts';
import { isAddressOrSubnet, networkErrors } from './validate-network.ts';

type V1alpha1 = Readonly<Record<string, unknown>>;

/** The rules of the v1alpha1 document. */
export function v1alpha1Errors(legacy: V1alpha1, view: ConfigView, context: ValidationContext): ConfigVerdict {
  if (!legacy['machine']) return { errors: ['machine instructions are required'], warnings: [] };
  const control = view.type === 'controlplane' || view.type === 'init';
  const warnings = warningsOf(legacy);
  return {
    errors: [
      ...clusterErrors(legacy, view, control, context),
      ...installErrors(legacy, context),
      ...typeErrors(legacy, view, control),
      ...networkErrors(fieldsAt(legacy, 'machine.network'), control),
      ...kubeletErrors(legacy),
      ...featureErrors(legacy, control, context),
      ...(fieldAt(legacy, 'persist') === false ? ['.persist should be enabled'] : []),
    ],
    warnings,
  };
}

function warningsOf(legacy: V1alpha1): string[] {
  const type = textAt(legacy, 'machine.type');
  return [
    ...(type === 'join' || type === '' ? [`use "worker" instead of "${type}" for machine type`] : []),
    ...(listAt(legacy, 'machine.install.extensions').length > 0
      ? [
          '.machine.install.extensions is deprecated, please see https://docs.siderolabs.com/talos/latest/platform-specific-installations/boot-assets',
        ]
      : []),
  ];
}

const dnsName = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$/;

function clusterErrors(legacy: V1alpha1, view: ConfigView, control: boolean, context: ValidationContext): string[] {
  if (!legacy['cluster']) return ['cluster instructions are required'];
  if (view.endpoint === '' && (context.minor < 14 || fieldAt(legacy, 'cluster.controlPlane') !== undefined)) {
    return ['cluster controlplane endpoint is required'];
  }
  const errors: string[] = [];
  const problem = view.endpoint === '' ? undefined : endpointProblem(view.endpoint);
  if (problem !== undefined) errors.push(`invalid controlplane endpoint: ${problem}`);
  const domain = textAt(legacy, 'cluster.network.dnsDomain');
  if (domain !== '' && !dnsName.test(domain)) errors.push(`"${domain}" is not a valid DNS name`);
  if (fieldAt(legacy, 'cluster.etcd') !== undefined) {
    if (!control) errors.push('etcd config is only allowed on control plane machines');
    else errors.push(...etcdErrors(fieldsAt(legacy, 'cluster.etcd'), view));
  }
  if (!control && textAt(legacy, 'cluster.ca.key') !== '') {
    errors.push('cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)');
  }
  return [...errors, ...manifestErrors(legacy), ...discoveryErrors(legacy), ...(control ? cniErrors(legacy) : [])];
}

function etcdErrors(etcd: Fields, view: ConfigView): string[] {
  const errors: string[] = [];
  if (view.etcdCa.crt === '') errors.push('key/cert combination should not be empty');
  if (textAt(etcd, 'subnet') !== '' && listAt(etcd, 'advertisedSubnets').length > 0) {
    errors.push("etcd subnet can't be set when advertised subnets are set");
  }
  for (const [field, name] of [
    ['advertisedSubnets', 'advertised'],
    ['listenSubnets', 'listen'],
  ] as const) {
    for (const subnet of listAt(etcd, field)) {
      const text = String(subnet).replace(/^!/, '');
      if (!isAddressOrSubnet(text)) errors.push(`etcd ${name} subnet is not valid: "${text}"`);
    }
  }
  return errors;
}

function cniErrors(legacy: V1alpha1): string[] {
  const name = textAt(legacy, 'cluster.network.cni.name') || 'flannel';
  const urls = listAt(legacy, 'cluster.network.cni.urls');
  const errors: string[] = [];
  if (!['flannel', 'custom', 'none'].includes(name)) {
    errors.push('cni name should be one of ["flannel", "custom", "none"]');
  }
  if (name !== 'custom' && urls.length > 0) errors.push(`"urls" field should be empty for "${name}" CNI`);
  if (name !== 'flannel' && listAt(legacy, 'cluster.network.cni.flannel.extraArgs').length > 0) {
    errors.push(`"flanneldExtraArgs" field should be empty for "${name}" CNI`);
  }
  return errors;
}

function manifestErrors(legacy: V1alpha1): string[] {
  const seen = new Set<string>();
  return listAt(legacy, 'cluster.inlineManifests').flatMap((manifest) => {
    const name = textAt(manifest, 'name');
    if (name.trim() === '') return ["inline manifest name can't be empty"];
    if (seen.has(name)) return [`inline manifest name "${name}" is duplicate`];
    seen.add(name);
    return [];
  });
}

function discoveryErrors(legacy: V1alpha1): string[] {
  const on = fieldAt(legacy, 'cluster.discovery.enabled') === true;
  if (!on || fieldAt(legacy, 'cluster.discovery.registries.service.disabled') === true) return [];
  const endpoint = textAt(legacy, 'cluster.discovery.registries.service.endpoint') || 'https://discovery.talos.dev/';
  const errors: string[] = [];
  if (!URL.canParse(endpoint))
    errors.push(`cluster discovery service registry endpoint is invalid: parse "${endpoint}": invalid URI for request`);
  else if (new URL(endpoint).pathname !== '/') errors.push('cluster discovery service path should be empty');
  if (textAt(legacy, 'cluster.id') === '') errors.push('cluster discovery service requires .cluster.id');
  if (textAt(legacy, 'cluster.secret') === '') errors.push('cluster discovery service requires .cluster.secret');
  return errors;
}

function installErrors(legacy: V1alpha1, context: ValidationContext): string[] {
  if (context.mode !== 'metal' || context.installed || context.minor >= 14) return [];
  const install = fieldAt(legacy, 'machine.install');
  if (install === undefined || install === null) return ['install instructions are required in "metal" mode'];
  const selector = fieldsAt(install, 'diskSelector');
  const errors: string[] = [];
  if (textAt(install, 'disk') === '' && Object.keys(selector).length === 0) {
    errors.push('either install disk or diskSelector should be defined');
  }
  if (listAt(install, 'extraKernelArgs').length > 0 && fieldAt(install, 'grubUseUKICmdline') === true) {
    errors.push("install.extraKernelArgs and install.grubUseUKICmdline can't be used together");
  }
  return errors;
}

const types = ['init', 'controlplane', 'worker', 'join', ''];

function typeErrors(legacy: V1alpha1, view: ConfigView, control: boolean): string[] {
  if (!types.includes(view.type)) return [`unknown machine type "${view.type}"`];
  const { crt, key } = view.osCa;
  const errors: string[] = [];
  if (crt === '' && view.acceptedCas.length === 0) {
    errors.push('issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)');
  }
  if (control) {
    if (crt === '') errors.push('issuing CA is required (.machine.ca)');
    else if (key === '') errors.push('issuing CA key is required for controlplane nodes (.machine.ca.key)');
    return errors;
  }
  if (key !== '') errors.push('issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)');
  if (textAt(legacy, 'cluster.ca.key') !== '') {
    errors.push('issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)');
  }
  return errors;
}

const protectedKubeletFields = [
  ...['apiVersion', 'authentication', 'authorization', 'cgroupRoot', 'kind', 'kubeletCgroups', 'port'],
  ...['protectKernelDefaults', 'resolvConf', 'rotateCertificates', 'systemCgroups', 'staticPodPath', 'seccompDefault'],
];

function kubeletErrors(legacy: V1alpha1): string[] {
  const extra = fieldsAt(legacy, 'machine.kubelet.extraConfig');
  return [
    ...listAt(legacy, 'machine.kubelet.nodeIP.validSubnets')
      .map((subnet) => String(subnet).replace(/^!/, ''))
      .filter((subnet) => !isAddressOrSubnet(subnet))
      .map((subnet) => `kubelet nodeIP subnet is not valid: "${subnet}"`),
    ...protectedKubeletFields
      .filter((field) => field in extra)
      .map((field) => `kubelet configuration field "${field}" can't be overridden`),
  ];
}

const roles = [
  'os:admin',
  'os:operator',
  'os:reader',
  'os:etcd:backup',
  'os:image:verifier',
  'os:meta:writer',
  'os:impersonator',
];

function featureErrors(legacy: V1alpha1, control: boolean, context: ValidationContext): string[] {
  const features = fieldsAt(legacy, 'machine.features');
  const errors: string[] = [];
  if (
    context.minor >= 13 &&
    fieldAt(features, 'hostDNS.forwardKubeDNSToHost') === true &&
    fieldAt(features, 'hostDNS.enabled') !== true
  ) {
    errors.push('feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled to be true (.machine.features.hostDNS)');
  }
  if (fieldAt(features, 'kubernetesTalosAPIAccess.enabled') === true) {
    if (!control) errors.push('feature Kubernetes Talos API Access can only be enabled on control plane machines');
    for (const role of listAt(features, 'kubernetesTalosAPIAccess.allowedRoles')) {
      if (!roles.includes(String(role)))
        errors.push(`invalid role "${String(role)}" in allowed roles for Kubernetes Talos API Access`);
    }
  }
  return [
    ...errors,
    ...grouped('invalid machine node labels', labelErrors(fieldsAt(legacy, 'machine.nodeLabels'))),
    ...grouped('invalid machine node taints', taintErrors(fieldsAt(legacy, 'machine.nodeTaints'))),
  ];
}

const grouped = (title: string, errors: readonly string[]): string[] =>
  errors.length > 0 ? [`${title}: ${errorList(errors)}`] : [];

const sorted = (fields: Fields): [string, string][] =>
  Object.entries(fields)
    .map(([key, value]): [string, string] => [key, String(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1));

const labelErrors = (labels: Fields): string[] =>
  sorted(labels).flatMap(([key, value]) => [
    ...(labelName.test(key) ? [] : [`name "${key}" is invalid`]),
    ...(labelValue.test(value) ? [] : [`label value "${value}" is invalid`]),
  ]);

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** (talos: pkg/machinery/labels/validate.go) */
const taintErrors = (taints: Fields): string[] =>
  sorted(taints).flatMap(([key, text]) => {
    const [first = '', ...rest] = text.split(':');
    const effect = rest.length > 0 ? rest.join(':') : first;
    if (!labelName.test(key)) return [`name "${key}" is invalid`];
    if (!effects.includes(effect)) return [`invalid taint effect: "${effect}"`];
    return rest.length > 0 && !labelValue.test(first) ? [`label value "${first}" is invalid`] : [];
  });

const labelName = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** (siderolabs/net: ValidateEndpointURI) */
function endpointProblem(text: string): string | undefined {
  if (!URL.canParse(text) || new URL(text).hostname === '') return 'hostname must not be blank';
  const { port } = new URL(text);
  return port === '0' ? 'port number must be between 1 and 65535' : undefined;
}
