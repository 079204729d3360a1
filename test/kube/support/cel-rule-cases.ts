import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { CelRule } from './own-crds.ts';
import type { Body } from './raw-kube-client.ts';

/** A test of a rule: an object at its creation, or an accepted one with a later change. */
export interface CelRuleAttempt {
  /** Merged over the example of the kind; `undefined` removes a field. */
  readonly spec?: Body;
  /** A merge patch of `spec`, sent afterwards. */
  readonly change?: Body;
  /** Length of the name; default: a short one. */
  readonly nameLength?: number;
}

/** A rule by its path, with an accepted and a rejected attempt. */
export interface CelRuleCase extends Pick<CelRule, 'kind' | 'path'> {
  /** Text of its message, if several rules have the same path. */
  readonly says?: string;
  readonly accepts: CelRuleAttempt;
  readonly refuses: CelRuleAttempt;
}

const sample = parseAllDocuments(
  readFileSync(join(import.meta.dirname, '../../../config/samples/truenas.yaml'), 'utf8'),
).map((document) => document.toJS())[1].spec;

/** A complete, valid spec of each kind. */
export const exampleSpecs: Readonly<Record<string, Body>> = {
  Host: { serverID: '4711', hetznerRobot: {}, expect: { product: 'AX42' } },
  Machine: {
    providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
    providerConfigRef: { name: 'small' },
    clusterRef: { namespace: 'project', name: 'one', uid: '7d7f6b1e-6b0c-4c55-9f0e-0d6d1a1c2b3a' },
    platform: 'truenas',
    role: 'worker',
    pool: 'general',
    slot: 0,
    size: 'medium',
    talosVersion: '1.13.9',
    kubernetesVersion: '1.35.4',
    endpoint: 'https://192.168.10.20:6443',
  },
  NodePool: {
    providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
    providerConfigRef: { name: 'small' },
    clusterRef: { namespace: 'project', name: 'one', uid: '7d7f6b1e-6b0c-4c55-9f0e-0d6d1a1c2b3a' },
    pool: 'general',
    replicas: 2,
  },
  ProviderConfig: sample,
  ClusterConfig: { controlPlane: { replicas: 1 } },
};

/** The name is used as a label value. */
const nameCase = (kind: string): CelRuleCase => ({
  ...{ kind, path: '' },
  accepts: { nameLength: 63 },
  refuses: { nameLength: 64 },
});

const onConfig = (path: string, accepts: CelRuleAttempt, refuses: CelRuleAttempt, says?: string): CelRuleCase => ({
  ...{ kind: 'ProviderConfig', path: `.spec${path}` },
  ...{ accepts, refuses },
  ...(says !== undefined && { says }),
});

const pool = (name: string, more: Body = {}) => ({
  spec: { workerPools: [{ name, replicas: 1, size: 'medium', ...more }] },
});
const network = (values: Body): CelRuleAttempt => ({ spec: { network: { ...sample.network, ...values } } });
const externalCloudProvider = {
  spec: { kubernetes: { ...sample.kubernetes, externalCloudProvider: { enabled: true } } },
};
const byDhcp = { addressAssignment: 'DHCP', gateway: undefined, nameServers: undefined };
/** A spec with the other platform, whose nodes already have addresses. */
const robot = (values: Body = {}, ofNetwork: Body = {}): CelRuleAttempt => ({
  spec: {
    truenas: undefined,
    network: { nameServers: ['192.0.2.53'], ...ofNetwork },
    hetznerRobot: {
      credentialsRef: { name: 'robot' },
      sizes: [{ name: 'medium', hostSelector: {} }],
      ...values,
    },
  },
});
const withPlainHttp = (values: Body): CelRuleAttempt => ({
  spec: { ...robot(values).spec, talos: { ...sample.talos, factoryUrl: 'http://factory.example.org' } },
});
const vswitch = { name: 'nodes', vlan: 4000 };
const tlsSection = (values: Body): CelRuleAttempt => ({
  spec: { truenas: { ...sample.truenas, caBundle: undefined, ...values } },
});
const tlsFingerprint = Array(32).fill('A7').join(':');
const size = (values: Body) => ({
  spec: { truenas: { ...sample.truenas, sizes: [{ ...sample.truenas.sizes[0], ...values }] } },
});
/** A spec with a list of systems; `values` changes the first system, and `beside` adds fields next to the list. */
const systems = (values: Body = {}, beside: Body = {}): CelRuleAttempt => {
  const { url, credentialsRef, pool, bridge, sizes } = sample.truenas;
  const one = { url, credentialsRef, pool, bridge };
  const list = [
    { ...one, name: 'a', ...values },
    { ...one, name: 'b', datasetPrefix: 'other' },
  ];
  return { spec: { truenas: { sizes, systems: list, ...beside } } };
};
const url = (text: string) => ({ spec: { truenas: { ...sample.truenas, url: text } } });

export const celRuleCases: readonly CelRuleCase[] = [
  ...['Host', 'Machine', 'NodePool', 'ProviderConfig'].map(nameCase),
  {
    ...{ kind: 'ClusterConfig', path: '.spec.controlPlane.replicas' },
    accepts: { spec: { controlPlane: { replicas: 5 } } },
    refuses: { spec: { controlPlane: { replicas: 4 } } },
  },
  {
    ...{ kind: 'ClusterConfig', path: '.spec.workerPools[].name' },
    accepts: { spec: { workerPools: [{ name: 'general' }] } },
    refuses: { spec: { workerPools: [{ name: 'cp' }] } },
  },
  {
    ...{ kind: 'Host', path: '.spec.serverID' },
    accepts: { change: { serverID: '4711', wipe: true } },
    refuses: { change: { serverID: '4712' } },
  },
  {
    ...{ kind: 'Host', path: '.spec.expect' },
    accepts: { spec: { expect: { name: 'rack-1' } } },
    refuses: { spec: { expect: {} } },
  },
  {
    ...{ kind: 'Host', path: '.spec.rootDisk' },
    accepts: { spec: { rootDisk: { minSizeGiB: 100, maxSizeGiB: 100 } } },
    refuses: { spec: { rootDisk: { minSizeGiB: 101, maxSizeGiB: 100 } } },
  },
  {
    ...{ kind: 'Host', path: '.spec', says: 'exactly one platform section' },
    accepts: { spec: { hetznerRobot: { resetTypes: ['hw'] } } },
    refuses: { spec: { hetznerRobot: undefined } },
  },
  {
    ...{ kind: 'Host', path: '.spec', says: 'the platform of a Host' },
    accepts: { change: { hetznerRobot: { resetTypes: ['sw'] } } },
    refuses: { change: { hetznerRobot: null } },
  },
  {
    ...{ kind: 'Host', path: '.spec', says: 'serverID must be the number' },
    accepts: { spec: { serverID: '4000000001' } },
    refuses: { spec: { serverID: '04711' } },
  },
  {
    ...{ kind: 'Host', path: '.spec', says: 'rootDisk names a disk' },
    accepts: { spec: { protectedDisks: ['S1', 'S2'], rootDisk: { serial: 'S3', raidMembers: ['S4'] } } },
    refuses: { spec: { protectedDisks: ['S1', 'S2'], rootDisk: { serial: 'S3', raidMembers: ['S2'] } } },
  },
  {
    ...{ kind: 'Machine', path: '.spec' },
    accepts: { change: { slot: 0, configuration: 'released' } },
    refuses: { change: { slot: 1 } },
  },
  onConfig('', {}, { spec: { truenas: undefined } }, 'exactly one platform section'),
  ...['addressPool', 'prefix', 'gateway'].map((field) =>
    onConfig('', robot(), network({ [field]: undefined }), `network.${field} is required`),
  ),
  onConfig(
    '',
    withPlainHttp({ image: { sha256: 'a'.repeat(64) } }),
    withPlainHttp({ image: { compression: 'xz' } }),
    'hetznerRobot.image.sha256 is required',
  ),
  onConfig('', network(byDhcp), network({ nameServers: undefined }), 'network.nameServers is required'),
  onConfig('', network(byDhcp), network({ addressAssignment: 'DHCP' }), 'network.gateway must be omitted'),
  onConfig('', network(byDhcp), robot({}, { addressAssignment: 'DHCP' }), 'network.addressAssignment DHCP'),
  onConfig(
    '.hetznerRobot',
    robot({ endpoint: 'virtual-address', vswitch }),
    robot({ endpoint: 'virtual-address' }),
    'hetznerRobot.endpoint',
  ),
  onConfig(
    '.hetznerRobot',
    robot({ failoverAddress: '198.51.100.7' }),
    robot({ endpoint: 'failover' }),
    'hetznerRobot.failoverAddress',
  ),
  onConfig('.providerRef', { change: { providerRef: { name: 'talos' } } }, { change: { providerRef: { name: 'b' } } }),
  onConfig(
    '.controlPlane.replicas',
    { spec: { controlPlane: { replicas: 5, size: 'medium' } } },
    { spec: { controlPlane: { replicas: 4, size: 'medium' } } },
  ),
  onConfig('.workerPools[].name', pool('general'), pool('cp')),
  onConfig('.workerPools[]', pool('general', { minReplicas: 0, maxReplicas: 3 }), pool('general', { minReplicas: 2 })),
  {
    ...{ kind: 'ClusterConfig', path: '.spec.workerPools[]' },
    accepts: pool('general', { replicas: undefined, minReplicas: 2, maxReplicas: 2 }),
    refuses: pool('general', { maxReplicas: 0 }),
  },
  {
    ...{ kind: 'NodePool', path: '.spec' },
    accepts: { change: { replicas: 5 } },
    refuses: { change: { pool: 'other' } },
  },
  onConfig(
    '.network.podSubnets',
    { spec: { network: { ...sample.network, podSubnets: ['10.1.0.0/16'] } } },
    { change: { network: { podSubnets: ['10.1.0.0/16'] } } },
  ),
  onConfig(
    '.network.serviceSubnets',
    { spec: { network: { ...sample.network, serviceSubnets: ['10.2.0.0/16'] } } },
    { change: { network: { serviceSubnets: ['10.2.0.0/16'] } } },
  ),
  onConfig('.network.ipv6.subnet', network({ ipv6: { subnet: 'fd00:1::/64' } }), {
    ...network({ ipv6: { subnet: 'fd00:1::/64' } }),
    change: { network: { ipv6: { subnet: 'fd00:2::/64' } } },
  }),
  onConfig(
    '.network.cni',
    network({ cni: { name: 'Custom', urls: ['https://example.org/cni.yaml'] } }),
    network({ cni: { name: 'Custom' } }),
  ),
  onConfig('.network.cni.name', network({ cni: { name: 'None' } }), { change: { network: { cni: { name: 'None' } } } }),
  onConfig(
    '.kubernetes.externalCloudProvider.enabled',
    { ...externalCloudProvider, change: { kubernetes: { extraManifests: ['https://example.org/ccm.yaml'] } } },
    { change: externalCloudProvider.spec },
  ),
  onConfig(
    '',
    network({ region: 'basement' }),
    { spec: { ...externalCloudProvider.spec, ...network({ region: 'basement' }).spec } },
    'network.region must be omitted',
  ),
  onConfig('.network.kubeProxy', network({ kubeProxy: false }), { change: { network: { kubeProxy: false } } }),
  onConfig(
    '.network.dnsDomain',
    { change: { network: { prefix: 25 } } },
    { change: { network: { dnsDomain: 'other.local' } } },
  ),
  onConfig('.truenas.sizes[]', size({ cpus: 8, sockets: 2, threads: 2 }), size({ cpus: 6, sockets: 2, threads: 2 })),
  onConfig('.truenas.sizes[].cpuModel', size({ cpuModel: 'Nehalem' }), size({ cpuModel: 'qemu64' })),
  onConfig(
    '.truenas',
    tlsSection({ tlsFingerprint }),
    tlsSection({ tlsFingerprint, caBundle: 'any' }),
    'caBundle and tlsFingerprint exclude each other',
  ),
  onConfig('.truenas', systems(), systems({}, { pool: 'tank' }), 'belong into the entries of systems'),
  ...['url', 'credentialsRef', 'pool', 'bridge'].map((field) =>
    onConfig('.truenas', systems(), tlsSection({ [field]: undefined }), `truenas.${field} is required`),
  ),
  onConfig('.truenas.systems[]', systems({ tlsFingerprint }), systems({ tlsFingerprint, caBundle: 'any' })),
  onConfig('.truenas.systems[].url', systems({ url: 'wss://b.example.org' }), systems({ url: 'ws://b.example.org' })),
  onConfig('.truenas.url', url('wss://nas.example.org/api/current'), url('ws://nas.example.org')),
];
