import { describe, expect, it } from 'vitest';
import type { ConfigDocument } from '../config-document.ts';
import { findDecodingProblems } from '../schema/decoding.ts';
import { documentKinds } from '../schema/document-kinds.ts';
import { mainDocumentSchema } from '../schema/main-document-schema.ts';
import type { ValueSchema } from '../schema/value-schema.ts';
import { documentPermissions } from './document-permissions.ts';
import { findForbiddenFields } from './find-forbidden-fields.ts';
import { mainDocumentPermissions } from './main-document-permissions.ts';
import type { PatchPermission } from './patch-permission.ts';
import { findRejectionReasonOfPath } from './rejection-reasons.ts';

const context = { systemRegistries: ['factory.example.org'], labelPrefix: 'talos.clusters.openmcp.cloud/' };
const problemsOf = (patch: ConfigDocument) => findForbiddenFields(patch, context);
const document = (kind: string, content: object): ConfigDocument => ({ apiVersion: 'v1alpha1', kind, ...content });
const machine = (content: object): ConfigDocument => ({ machine: content });
const cluster = (content: object): ConfigDocument => ({ cluster: content });
const deleted = { $patch: 'delete' };
const flags = (program: string, extraArgs: object) => cluster({ [program]: { extraArgs } });

/** Builds a patch with one value at a path; `*` and `[]` as in the table. */
function patchWith(path: readonly string[], value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  return first === '[]' ? [patchWith(rest, value)] : { [first]: patchWith(rest, value) };
}

describe('the author of a ClusterConfig may not', () => {
  const address = '192.168.10.20';
  const link = { name: 'enp0s1', addresses: [{ address: `${address}/24` }] };
  it.each<[string, ConfigDocument, RegExp]>([
    [
      'take an address on a card',
      machine({ network: { interfaces: [{ interface: 'eth0', addresses: [`${address}/24`] }] } }),
      /machine\.network /,
    ],
    [
      'take a virtual address',
      machine({ network: { interfaces: [{ interface: 'eth0', vip: { ip: address } }] } }),
      /machine\.network /,
    ],
    ['take one by a document', document('LinkConfig', link), /^LinkConfig /],
    ['take one on a dummy link', document('DummyLinkConfig', link), /^DummyLinkConfig /],
    ['take one on a bridge', document('BridgeConfig', link), /^BridgeConfig /],
    ['take one on a bond', document('BondConfig', link), /^BondConfig /],
    ['take one on a VLAN', document('VLANConfig', { ...link, vlanID: 4, parent: 'enp0s1' }), /^VLANConfig /],
    ['take one on a veth', document('VethConfig', link), /^VethConfig /],
    ['take one in a VRF', document('VRFConfig', link), /^VRFConfig /],
    ['take one in a tunnel', document('WireguardConfig', link), /^WireguardConfig /],
    ['take the endpoint', document('Layer2VIPConfig', { name: address, link: 'enp0s1' }), /^Layer2VIPConfig /],
    ['take a floating address', document('HCloudVIPConfig', { name: address, link: 'enp0s1' }), /^HCloudVIPConfig /],
    ['announce one', document('BGPInstanceConfig', { name: 'a', advertise: [`${address}/32`] }), /^BGPInstanceConfig /],
    ['reroute packets', document('RoutingRuleConfig', { name: '10', table: 'main' }), /^RoutingRuleConfig /],
    ['open the firewall', document('NetworkRuleConfig', { name: 'a', ingress: [] }), /^NetworkRuleConfig /],
    ['override the address of a registry', machine({ network: { extraHostEntries: [] } }), /machine\.network /],
    [
      'override it by a document',
      document('StaticHostConfig', { name: address, hostnames: ['ghcr.io'] }),
      /^StaticHostConfig /,
    ],
    ['install another system', machine({ install: { image: 'evil.example/installer:v1.13.9' } }), /machine\.install /],
    [
      'install it by a document',
      document('UnattendedInstallConfig', { installer: { image: 'evil.example/installer:v1' } }),
      /^UnattendedInstallConfig /,
    ],
    ['erase a disk', machine({ install: { wipe: true, disk: '/dev/sdb' } }), /machine\.install /],
    ['format one', machine({ disks: [{ device: '/dev/sdb', partitions: [] }] }), /machine\.disks /],
    ['format one by a document', document('UserVolumeConfig', { name: 'data' }), /^UserVolumeConfig /],
    [
      'replace a component',
      cluster({ apiServer: { image: 'evil.example/api:v1.35.4' } }),
      /cluster\.apiServer\.image /,
    ],
    ['replace the kubelet', machine({ kubelet: { image: 'evil.example/k:v1.35.4' } }), /machine\.kubelet\.image /],
    ['replace etcd', cluster({ etcd: { image: 'evil.example/etcd:v3.6.1' } }), /cluster\.etcd\.image /],
    ['write a file', machine({ files: [{ path: '/var/x', content: 'x', op: 'create' }] }), /machine\.files /],
    ['write one by a document', document('EtcFileConfig', { name: 'x', contents: 'x' }), /^EtcFileConfig /],
    ['run a static Pod', machine({ pods: [{ kind: 'Pod' }] }), /machine\.pods /],
    ['run one by a document', document('KubeStaticPodConfig', { name: 'x', pod: {} }), /^KubeStaticPodConfig /],
    ['run a container of the system', document('ContainerConfig', { name: 'x', image: 'x' }), /^ContainerConfig /],
    [
      'mount the host',
      machine({ kubelet: { extraMounts: [{ source: '/', destination: '/', type: 'bind' }] } }),
      /machine\.kubelet\.extraMounts\[\] must be a bind mount/,
    ],
    [
      'mount it from below a volume',
      machine({ kubelet: { extraMounts: [{ source: '/var/mnt/../lib/etcd', destination: '/var/mnt/../lib/etcd' }] } }),
      /machine\.kubelet\.extraMounts\[\] must be a bind mount/,
    ],
    [
      'mount it into the API server',
      cluster({ apiServer: { extraVolumes: [{ hostPath: '/', mountPath: '/host' }] } }),
      /cluster\.apiServer\.extraVolumes /,
    ],
    [
      'mount it into the scheduler',
      cluster({ scheduler: { extraVolumes: [{ hostPath: '/', mountPath: '/host' }] } }),
      /cluster\.scheduler\.extraVolumes /,
    ],
    ['trust further issuers', flags('apiServer', { 'oidc-issuer-url': 'https://id.example' }), /oidc-issuer-url /],
    ['permit anonymous access', flags('apiServer', { 'anonymous-auth': 'true' }), /anonymous-auth /],
    ['authorize everything', flags('apiServer', { 'authorization-mode': 'AlwaysAllow' }), /authorization-mode /],
    ['read a file', flags('apiServer', { 'authentication-config': '/x' }), /authentication-config /],
    [
      'use an authorization webhook',
      flags('apiServer', { 'authorization-webhook-config-file': '/x' }),
      /webhook-config-file /,
    ],
    ['write another audit log', flags('apiServer', { 'audit-log-path': '/x' }), /audit-log-path /],
    [
      'turn an API off',
      flags('apiServer', { 'runtime-config': 'api/all=false' }),
      /runtime-config must be API versions/,
    ],
    ['log contents', flags('apiServer', { v: '9' }), /extraArgs\.v must be one of 0/],
    ['sign with another key', flags('controllerManager', { 'cluster-signing-key-file': '/x' }), /signing-key-file /],
    ['use another kubeconfig', flags('scheduler', { kubeconfig: '/x' }), /kubeconfig /],
    ['publish etcd', flags('etcd', { 'listen-client-urls': 'http://0.0.0.0:2379' }), /listen-client-urls /],
    ['open the kubelet', machine({ kubelet: { extraArgs: { 'read-only-port': '10255' } } }), /read-only-port /],
    [
      'open it by its configuration',
      machine({ kubelet: { extraConfig: { authentication: { anonymous: { enabled: true } } } } }),
      /extraConfig\.authentication /,
    ],
    ['trust another authority', machine({ acceptedCAs: [{ crt: 'YQ==' }] }), /machine\.acceptedCAs /],
    ['trust one of Kubernetes', cluster({ acceptedCAs: [{ crt: 'YQ==' }] }), /cluster\.acceptedCAs /],
    ['trust it on the node', document('TrustedRootsConfig', { name: 'x', certificates: '' }), /^TrustedRootsConfig /],
    [
      'trust issuers by a document',
      document('KubeAuthenticationConfig', { configuration: {} }),
      /^KubeAuthenticationConfig /,
    ],
    [
      'authorize by a document',
      document('KubeAuthorizerConfig', { name: 'x', type: 'Webhook' }),
      /^KubeAuthorizerConfig /,
    ],
    [
      'give Pods the Talos API',
      machine({ features: { kubernetesTalosAPIAccess: { enabled: true } } }),
      /machine\.features\.kubernetesTalosAPIAccess /,
    ],
    ['give it by a document', document('KubeTalosAPIAccessConfig', {}), /^KubeTalosAPIAccessConfig /],
    [
      'turn TLS of a registry off',
      machine({ registries: { config: { 'r.example': { tls: { insecureSkipVerify: true } } } } }),
      /insecureSkipVerify /,
    ],
    [
      'turn it off by a document',
      document('RegistryTLSConfig', { name: 'r.example', insecureSkipVerify: true }),
      /^RegistryTLSConfig\.insecureSkipVerify /,
    ],
    [
      'use a mirror without TLS',
      machine({ registries: { mirrors: { 'r.example': { endpoints: ['http://m.example'] } } } }),
      /endpoints\[\] must be an https URL/,
    ],
    ['start a program of the kernel', machine({ sysctls: { 'kernel.core_pattern': '|/bin/x' } }), /core_pattern /],
    ['start one by a document', document('SysctlConfig', { params: { 'kernel.modprobe': '/x' } }), /kernel\.modprobe /],
    ['write to sysfs', machine({ sysfs: { 'module.x': '1' } }), /machine\.sysfs /],
    ['load any module', machine({ kernel: { modules: [{ name: 'vfio_pci' }] } }), /modules\[\]\.name must be a module/],
    [
      'let a module start a program',
      machine({ kernel: { modules: [{ name: 'drbd', parameters: ['usermode_helper=/x'] }] } }),
      /parameters\[\] must be a parameter/,
    ],
    ['send fetches through a proxy', machine({ env: { https_proxy: 'http://x' } }), /machine\.env /],
    ['send logs to another system', machine({ logging: { destinations: [] } }), /machine\.logging /],
    ['disable auditing', cluster({ apiServer: { auditPolicy: { rules: [] } } }), /cluster\.apiServer\.auditPolicy /],
    [
      'read files by an admission plugin',
      cluster({ apiServer: { admissionControl: [{ name: 'ImagePolicyWebhook', configuration: {} }] } }),
      /admissionControl\[\] must be the configuration of the plugin PodSecurity/,
    ],
    [
      'have nodes fetch manifests',
      cluster({ extraManifests: ['https://evil.example/x.yaml'] }),
      /cluster\.extraManifests /,
    ],
    [
      'have them fetch a CNI',
      cluster({ network: { cni: { name: 'custom', urls: ['https://evil.example/x.yaml'] } } }),
      /cluster\.network\.cni/,
    ],
    [
      'change the labels of the provider',
      machine({ nodeLabels: { 'talos.clusters.openmcp.cloud/pool': 'x' } }),
      /pool /,
    ],
    ['remove the protection of a node', machine({ sysctls: deleted }), /machine\.sysctls /],
    ['remove a section', cluster({ apiServer: deleted }), /cluster\.apiServer /],
    ['remove the main document', { $patch: 'delete' }, /^the document /],
    ['remove a document', document('RegistryMirrorConfig', { name: 'r.example', ...deleted }), /but not removed/],
    [
      'remove PodSecurity',
      cluster({ apiServer: { admissionControl: [{ name: 'PodSecurity', ...deleted }] } }),
      /admissionControl\[\] .*but not removed/,
    ],
    ['hide a document', { kind: '', machine: { files: [] } }, /^"" .*the kind is unknown/],
    ['use an unknown kind', document('NoSuchConfig', {}), /^NoSuchConfig .*the kind is unknown/],
  ])('%s', (_, patch, message) => {
    const problems = problemsOf(patch);
    expect(problems).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
    for (const problem of problems) expect(problem).toMatch(/ in a ClusterConfig.*\.$/);
  });

  it.each([
    'registry.k8s.io',
    'REGISTRY.k8s.io',
    'registry.k8s.io.',
    'registry.k8s.io:443',
    'ghcr.io',
    'gcr.io',
    '*',
    'factory.talos.dev',
    'factory.example.org',
    '',
  ])('change the source of the system: %j', (name) => {
    const endpoints = ['https://m.example'];
    const patches = [
      machine({ registries: { mirrors: { [name]: { endpoints } } } }),
      machine({ registries: { config: { [name]: { auth: {} } } } }),
      document('RegistryMirrorConfig', { name, endpoints: [{ url: 'https://m.example' }] }),
      document('RegistryAuthConfig', { name, username: 'x' }),
      document('RegistryTLSConfig', { name, ca: 'x' }),
    ];
    for (const patch of patches) expect(problemsOf(patch), JSON.stringify(patch)).not.toEqual([]);
  });
});

describe('every kind of document', () => {
  it.each(Object.keys(documentKinds).filter((kind) => !Object.hasOwn(documentPermissions, kind)))(
    '%s is refused',
    (kind) => {
      expect(problemsOf(document(kind, {}))).toEqual([
        expect.stringMatching(new RegExp(`^${kind} cannot be set in a ClusterConfig: .*\\.$`)),
      ]);
    },
  );

  it.each(Object.keys(documentPermissions))('%s that is permitted is known to Talos', (kind) => {
    expect(Object.keys(documentKinds)).toContain(kind);
  });
});

describe('every path of the main document', () => {
  const all = leavesOf(mainDocumentSchema);
  const given = new Set(mainDocumentPermissions.map(({ path }) => path));
  const isGiven = (path: string) =>
    [...given].some((one) => path === one || path.startsWith(`${one}.`) || one.startsWith(path));

  it('is rejected with a reason unless it is in the table', () => {
    const others = all.filter((path) => !isGiven(path) && path !== 'version');
    expect(others.length).toBeGreaterThan(150);
    for (const path of others) {
      const [problem] = problemsOf(patchWith(path.split('.'), 'x') as ConfigDocument);
      expect(problem, path).toMatch(/^[\w.*"[\]]+ (cannot be set|must be)/);
    }
  });

  it('that is rejected has a specific reason', () => {
    const general = new Set(['debug', 'persist', 'cluster.clusterName', 'cluster.coreDNS', 'cluster.proxy']);
    const undocumented = all.filter(
      (path) =>
        !isGiven(path) && !general.has(path) && path !== 'version' && findRejectionReasonOfPath(path) === undefined,
    );
    expect(undocumented).toEqual([]);
  });
});

/** Typical values. */
const samples = [
  '1',
  'true',
  '0.5',
  '30s',
  '0.0.0.0',
  '192.0.2.0/24',
  '0.0.0.0:10249',
  'dns.example.org',
  'NoSchedule',
  'nbd',
  'nbd=1',
  'https://m.example.org',
  'flannel',
  'iptables',
  'periodic',
  'resource.k8s.io/v1beta1=true',
];
const volume = {
  source: '/var/mnt/data',
  destination: '/var/mnt/data',
  type: 'bind',
  options: ['bind', 'rshared', 'rw'],
};
const podSecurity = { name: 'PodSecurity', configuration: { defaults: { enforce: 'restricted' } } };
const keysFor = ['vm.max_map_count', 'r.example.org', 'example.org/disk'];

function sampleOf({ path, value, key }: PatchPermission, kind: string): ConfigDocument {
  const fitting = [...samples, volume, podSecurity].find((one) => value?.accepts(one, context) ?? true);
  const name = keysFor.find((one) => key?.(one, context) ?? true) ?? 'x';
  const segments = path.split('.').map((segment) => (segment === '*' ? name : segment));
  const content = patchWith(segments, value ? fitting : sampleWithoutCheck(path)) as ConfigDocument;
  if (kind === '') return content;
  const named = documentPermissions[kind]?.whole
    ? { name: kind === 'KernelModuleConfig' ? 'nbd' : 'r.example.org' }
    : {};
  return document(kind, { ...content, ...named, ...(kind === 'KubeAdmissionControlConfig' ? podSecurity : {}) });
}

/** Derives the type of a value from the name of its key. */
const sampleWithoutCheck = (path: string): unknown =>
  /(resources|auth|clientIdentity|value|manifest|configuration)$/.test(path) && !/^auth$|manifest$/.test(path)
    ? {}
    : path.endsWith('tls.ca')
      ? 'YQ=='
      : 'x';

describe('every permission of the table', () => {
  const rights = [
    ...mainDocumentPermissions.map((right) => ({ kind: '', right })),
    ...Object.entries(documentPermissions).flatMap(([kind, { permissions: own }]) =>
      own.map((right) => ({ kind, right })),
    ),
  ];
  it.each(rights.map((one) => ({ ...one, title: `${one.kind}:${one.right.path}` })))('$title', ({ kind, right }) => {
    const patch = sampleOf(right, kind);
    expect(problemsOf(patch)).toEqual([]);
    // An unknown path could never be set. Number settings get a text here.
    const unknown = findDecodingProblems(patch, '1.14.0').filter(
      (text) => !/must be (a whole number|true or false)/.test(text),
    );
    expect(unknown).toEqual([]);
  });
});

describe('a rejection message', () => {
  it('never contains a value, and is bounded', () => {
    const keys = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`wrong${i}`, 'hunter2hunter2']));
    const problems = problemsOf(machine({ ...keys, [`x${'y'.repeat(5_000)}`]: 'hunter2hunter2' }));
    expect(problems).toHaveLength(6);
    expect(problems.at(-1)).toBe('And 496 more.');
    expect(problems.join()).not.toContain('hunter2');
    const [long] = problemsOf(machine({ ['y'.repeat(5_000)]: 1 }));
    expect(long?.length).toBeLessThan(300);
  });

  it('is found in linear time for a large patch', () => {
    const values = Array.from({ length: 20_000 }, () => 'x'.repeat(100));
    const nested = values.reduce<unknown>((inner) => [inner], 'x');
    expect(problemsOf(machine({ network: nested, kubelet: { clusterDNS: values } }))).toHaveLength(2);
  });
});

/** The paths of a schema down to values without named keys. */
function leavesOf(shape: ValueSchema, path = ''): string[] {
  if (shape.is === 'keys') {
    return Object.entries(shape.keys).flatMap(([key, one]) => leavesOf(one, path === '' ? key : `${path}.${key}`));
  }
  if (shape.is === 'list') return leavesOf(shape.of, `${path}.[]`);
  if (shape.is === 'map') return leavesOf(shape.of, `${path}.*`);
  return [path];
}
