import { isIP } from 'node:net';
import { type ConfigDocument, isRecord, recordsAt, valueAt } from '../config-document.ts';
import {
  isCidr,
  isKubeletSettableLabel,
  isLabelKey,
  isLabelValue,
  isSubnetFilter,
  isTaint,
} from '../schema/formats.ts';
import { type MainDocumentRule, problemUnless } from './rule.ts';

const roleRule: MainDocumentRule = (main, { role: wanted }) =>
  problemUnless(
    valueAt(main, 'machine.type') === wanted,
    `machine.type must stay ${wanted}: the role of a node is fixed.`,
  );

const persistenceRule: MainDocumentRule = (main) =>
  problemUnless(valueAt(main, 'persist') !== false, 'persist must not be false.');

const authorityRule: MainDocumentRule = (main, { role }) => {
  const key = valueAt(main, 'machine.ca.key');
  const hasKey = key !== undefined && key !== '';
  return [
    ...problemUnless(typeof valueAt(main, 'machine.ca.crt') === 'string', 'machine.ca.crt is missing.'),
    ...problemUnless(role === 'worker' || hasKey, 'machine.ca.key is missing: a control plane signs certificates.'),
    ...problemUnless(role === 'controlplane' || !hasKey, 'machine.ca.key must not be on a worker.'),
  ];
};

const installRule: MainDocumentRule = (main) => {
  const section = valueAt(main, 'machine.install');
  if (!isRecord(section)) return ['machine.install is missing.'];
  const selector = section['diskSelector'];
  const named = typeof section['disk'] === 'string' && section['disk'] !== '';
  const selected = isRecord(selector) && Object.keys(selector).length > 0;
  const extra = section['extraKernelArgs'];
  return [
    ...problemUnless(named || selected, 'machine.install needs disk or diskSelector.'),
    ...problemUnless(
      !(Array.isArray(extra) && extra.length > 0 && section['grubUseUKICmdline'] === true),
      'machine.install.extraKernelArgs has no effect here: use talos.kernelArguments.',
    ),
    ...problemUnless(
      recordsAt(main, 'machine.install.extensions').length === 0,
      'machine.install.extensions has no effect since Talos 1.10: use talos.extensions.',
    ),
  ];
};

/** Fields of a kubelet's configuration that Talos reserves (`k8s/kubelet_spec.go`). */
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

const kubeletRule: MainDocumentRule = (main) => {
  const extra = valueAt(main, 'machine.kubelet.extraConfig');
  const reserved = isRecord(extra) ? Object.keys(extra).filter((key) => reservedKubeletKeys.includes(key)) : [];
  const subnets = valueAt(main, 'machine.kubelet.nodeIP.validSubnets');
  return [
    ...reserved.map((key) => `machine.kubelet.extraConfig.${key} belongs to Talos and cannot be set.`),
    ...problemUnless(
      subnets === undefined || (Array.isArray(subnets) && subnets.every(isSubnetFilter)),
      'machine.kubelet.nodeIP.validSubnets contains a value that is not a subnet.',
    ),
  ];
};

const featuresRule: MainDocumentRule = (main, { role }) => {
  const at = (path: string) => valueAt(main, `machine.features.${path}`);
  const port = at('kubePrism.port');
  return [
    ...problemUnless(
      at('hostDNS.forwardKubeDNSToHost') !== true || at('hostDNS.enabled') === true,
      'machine.features.hostDNS.forwardKubeDNSToHost needs hostDNS.enabled.',
    ),
    ...problemUnless(
      port === undefined || (Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536),
      'machine.features.kubePrism.port is not a port.',
    ),
    ...problemUnless(
      role === 'controlplane' || at('kubernetesTalosAPIAccess.enabled') !== true,
      'machine.features.kubernetesTalosAPIAccess can only be enabled on control planes.',
    ),
  ];
};

const metadataRule: MainDocumentRule = (main, { role }) => {
  const entries = (path: string): [string, unknown][] => {
    const map = valueAt(main, path);
    return isRecord(map) ? Object.entries(map) : [];
  };
  const wrong = (path: string, holds: (key: string, value: unknown) => boolean, what: string) =>
    entries(path).flatMap(([key, value]) => problemUnless(holds(key, value), `${path}: ${key} ${what}`));
  return [
    ...wrong('machine.nodeLabels', (key, value) => isLabelKey(key) && isLabelValue(value), 'is not a valid label.'),
    ...wrong('machine.nodeAnnotations', isLabelKey, 'is not a valid annotation.'),
    ...wrong('machine.nodeTaints', (key, value) => isLabelKey(key) && isTaint(value), 'is not a valid taint.'),
    ...wrong(
      'machine.nodeLabels',
      (key) => role === 'controlplane' || isKubeletSettableLabel(key),
      'is a label that worker nodes cannot set themselves: use another prefix.',
    ),
    ...problemUnless(
      role === 'controlplane' || entries('machine.nodeTaints').length === 0,
      'machine.nodeTaints does not work on workers: use the taints of the worker pool.',
    ),
  ];
};

const interfacesRule: MainDocumentRule = (main, { role }) =>
  recordsAt(main, 'machine.network.interfaces').flatMap((one, i) => {
    const path = `machine.network.interfaces[${i}]`;
    return [
      ...problemUnless(
        (one['interface'] === undefined) !== (one['deviceSelector'] === undefined),
        `${path} needs either interface or deviceSelector, and not both.`,
      ),
      ...findAddressProblems(one, path, role),
      ...recordsAt(one, 'vlans').flatMap((vlan, j) => findAddressProblems(vlan, `${path}.vlans[${j}]`, role)),
    ];
  });

function findAddressProblems(link: ConfigDocument, path: string, role: 'controlplane' | 'worker'): string[] {
  const addresses = link['addresses'];
  return [
    ...problemUnless(
      addresses === undefined || (Array.isArray(addresses) && addresses.every((one) => isCidr(one) || isIP(one) !== 0)),
      `${path}.addresses contains a value that is not an address with a prefix length.`,
    ),
    ...findVipProblems(link, path, role),
  ];
}

function findVipProblems(link: ConfigDocument, path: string, role: 'controlplane' | 'worker'): string[] {
  if (link['vip'] === undefined) return [];
  const ip = valueAt(link, 'vip.ip');
  return [
    ...problemUnless(role === 'controlplane', `${path}.vip must not be on a worker.`),
    ...problemUnless(typeof ip === 'string' && isIP(ip) !== 0, `${path}.vip.ip is not an address.`),
  ];
}

/** The rules about `machine`. */
export const machineRules: readonly MainDocumentRule[] = [
  roleRule,
  persistenceRule,
  authorityRule,
  installRule,
  kubeletRule,
  featuresRule,
  metadataRule,
  interfacesRule,
];
