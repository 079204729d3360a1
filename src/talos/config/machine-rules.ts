import { isIP } from 'node:net';
import { type ConfigDocument, isRecord, recordsAt, valueAt } from './document.ts';
import { expectThat, type Rule } from './rule.ts';
import { isCidr, isLabelKey, isLabelValue, isSubnetFilter, isTaint, mayLabelItself } from './syntax.ts';

const role: Rule = (main, { role: wanted }) =>
  expectThat(
    valueAt(main, 'machine.type') === wanted,
    `machine.type must stay ${wanted}: the role of a node is fixed.`,
  );

const persistence: Rule = (main) => expectThat(valueAt(main, 'persist') !== false, 'persist must not be false.');

const authority: Rule = (main, { role }) => {
  const key = valueAt(main, 'machine.ca.key');
  const hasKey = key !== undefined && key !== '';
  return [
    ...expectThat(typeof valueAt(main, 'machine.ca.crt') === 'string', 'machine.ca.crt is missing.'),
    ...expectThat(role === 'worker' || hasKey, 'machine.ca.key is missing: a control plane signs certificates.'),
    ...expectThat(role === 'controlplane' || !hasKey, 'machine.ca.key must not be on a worker.'),
  ];
};

const install: Rule = (main) => {
  const section = valueAt(main, 'machine.install');
  if (!isRecord(section)) return ['machine.install is missing.'];
  const selector = section['diskSelector'];
  const named = typeof section['disk'] === 'string' && section['disk'] !== '';
  const selected = isRecord(selector) && Object.keys(selector).length > 0;
  const extra = section['extraKernelArgs'];
  return [
    ...expectThat(named || selected, 'machine.install needs disk or diskSelector.'),
    ...expectThat(
      !(Array.isArray(extra) && extra.length > 0 && section['grubUseUKICmdline'] === true),
      'machine.install.extraKernelArgs has no effect here: name the arguments in talos.kernelArguments.',
    ),
    ...expectThat(
      recordsAt(main, 'machine.install.extensions').length === 0,
      'machine.install.extensions has no effect since Talos 1.10: name the extensions in talos.extensions.',
    ),
  ];
};

/** What Talos keeps to itself in a kubelet's configuration (`k8s/kubelet_spec.go`). */
const reservedKubeletKeys = [
  'apiVersion',
  'kind',
  'authentication',
  'authorization',
  'cgroupRoot',
  'kubeletCgroups',
  'systemCgroups',
  'port',
  'protectKernelDefaults',
  'resolvConf',
  'rotateCertificates',
  'seccompDefault',
  'staticPodPath',
];

const kubelet: Rule = (main) => {
  const extra = valueAt(main, 'machine.kubelet.extraConfig');
  const reserved = isRecord(extra) ? Object.keys(extra).filter((key) => reservedKubeletKeys.includes(key)) : [];
  const subnets = valueAt(main, 'machine.kubelet.nodeIP.validSubnets');
  return [
    ...reserved.map((key) => `machine.kubelet.extraConfig.${key} belongs to Talos and cannot be set.`),
    ...expectThat(
      subnets === undefined || (Array.isArray(subnets) && subnets.every(isSubnetFilter)),
      'machine.kubelet.nodeIP.validSubnets holds something that is no subnet.',
    ),
  ];
};

const features: Rule = (main, { role }) => {
  const at = (path: string) => valueAt(main, `machine.features.${path}`);
  const port = at('kubePrism.port');
  return [
    ...expectThat(
      at('hostDNS.forwardKubeDNSToHost') !== true || at('hostDNS.enabled') === true,
      'machine.features.hostDNS.forwardKubeDNSToHost needs hostDNS.enabled.',
    ),
    ...expectThat(
      port === undefined || (Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536),
      'machine.features.kubePrism.port is no port.',
    ),
    ...expectThat(
      role === 'controlplane' || at('kubernetesTalosAPIAccess.enabled') !== true,
      'machine.features.kubernetesTalosAPIAccess can only be enabled on control planes.',
    ),
  ];
};

const metadata: Rule = (main, { role }) => {
  const entries = (path: string): [string, unknown][] => {
    const map = valueAt(main, path);
    return isRecord(map) ? Object.entries(map) : [];
  };
  const wrong = (path: string, holds: (key: string, value: unknown) => boolean, what: string) =>
    entries(path).flatMap(([key, value]) => expectThat(holds(key, value), `${path}: ${key} ${what}`));
  return [
    ...wrong('machine.nodeLabels', (key, value) => isLabelKey(key) && isLabelValue(value), 'is no valid label.'),
    ...wrong('machine.nodeAnnotations', isLabelKey, 'is no valid annotation.'),
    ...wrong('machine.nodeTaints', (key, value) => isLabelKey(key) && isTaint(value), 'is no valid taint.'),
    ...wrong(
      'machine.nodeLabels',
      (key) => role === 'controlplane' || mayLabelItself(key),
      'is a label that Kubernetes lets no worker give itself: choose another prefix.',
    ),
    ...expectThat(
      role === 'controlplane' || entries('machine.nodeTaints').length === 0,
      'machine.nodeTaints does not work on workers: use the taints of the worker pool.',
    ),
  ];
};

const interfaces: Rule = (main, { role }) =>
  recordsAt(main, 'machine.network.interfaces').flatMap((one, i) => {
    const path = `machine.network.interfaces[${i}]`;
    return [
      ...expectThat(
        (one['interface'] === undefined) !== (one['deviceSelector'] === undefined),
        `${path} needs either interface or deviceSelector, and not both.`,
      ),
      ...addressProblems(one, path, role),
      ...recordsAt(one, 'vlans').flatMap((vlan, j) => addressProblems(vlan, `${path}.vlans[${j}]`, role)),
    ];
  });

function addressProblems(link: ConfigDocument, path: string, role: 'controlplane' | 'worker'): string[] {
  const addresses = link['addresses'];
  return [
    ...expectThat(
      addresses === undefined || (Array.isArray(addresses) && addresses.every((one) => isCidr(one) || isIP(one) !== 0)),
      `${path}.addresses holds something that is no address with a prefix length.`,
    ),
    ...vipProblems(link, path, role),
  ];
}

function vipProblems(link: ConfigDocument, path: string, role: 'controlplane' | 'worker'): string[] {
  if (link['vip'] === undefined) return [];
  const ip = valueAt(link, 'vip.ip');
  return [
    ...expectThat(role === 'controlplane', `${path}.vip must not be on a worker.`),
    ...expectThat(typeof ip === 'string' && isIP(ip) !== 0, `${path}.vip.ip is no address.`),
  ];
}

/** The rules about `machine`. */
export const machineRules: readonly Rule[] = [
  role,
  persistence,
  authority,
  install,
  kubelet,
  features,
  metadata,
  interfaces,
];
