import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { ConfigError } from '../../../world/talos/config/config-error.ts';
import { viewOf } from '../../../world/talos/config/config-view.ts';
import { decodeConfig } from '../../../world/talos/config/decode-config.ts';
import { rebootReason } from '../../../world/talos/config/needs-reboot.ts';
import { type ValidationContext, validateConfig } from '../../../world/talos/config/validate-config.ts';
import { makeConfig, makeSecrets, type TestSecrets } from '../testing/test-config.ts';

let secrets: TestSecrets;
let control: string;
let worker: string;

beforeAll(async () => {
  secrets = await makeSecrets();
  const common = {
    secrets,
    mac: '02:00:00:00:00:01',
    address: '127.42.9.1',
    endpoint: 'https://127.42.9.1:6443',
    factory: '127.0.0.1:1',
  };
  control = makeConfig({ ...common, role: 'controlplane', hostname: 'one' });
  worker = makeConfig({ ...common, role: 'worker', hostname: 'two' });
});

// biome-ignore lint/suspicious/noExplicitAny: a document is changed in the middle, in whatever way a case wants.
type Change = (legacy: any) => void;

/** The same configuration with its v1alpha1 document changed, and additional documents. */
function changed(text: string, change: Change, ...more: object[]): string {
  const [legacy, ...rest] = parseAllDocuments(text).map((document) => document.toJS());
  change(legacy);
  return [legacy, ...rest, ...more].map((document) => stringify(document)).join('---\n');
}

const cloud: ValidationContext = {
  minor: 13,
  version: '1.13.9',
  mode: 'cloud',
  installed: false,
  selectorFits: () => false,
};
const errorsOf = (text: string, context: Partial<ValidationContext> = {}): readonly string[] =>
  validateConfig(decodeConfig(text, context.minor ?? 13), { ...cloud, ...context }).errors;

describe('the decoder', () => {
  const failure = (text: string, minor = 13): string => {
    try {
      decodeConfig(text, minor);
      return '';
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      return (error as Error).message;
    }
  };

  it('accepts both roles unchanged', () => {
    expect([errorsOf(control), errorsOf(worker)]).toEqual([[], []]);
  });

  it.each<[string, RegExp]>([
    [
      'machine:\n  kubelet:\n    imagee: x\n',
      /unknown keys found during decoding:\nmachine:\n {4}kubelet:\n {8}imagee: x/,
    ],
    [
      'machine:\n  files:\n  - {path: /var/a, mode: 1}\n',
      /unknown keys found during decoding:\nmachine:\n {4}files:\n {8}- mode: 1/,
    ],
    ['apiVersion: v1alpha1\nkind: NoSuchConfig\n', /"NoSuchConfig" "v1alpha1": not registered/],
    ['name: x\nfoo: bar\n', /\(line 1\): missing kind/],
    ['# only a remark\n', /^config not found$/],
    ['kind: HostnameConfig\nhostname: x\n', /missing apiVersion/],
    [
      'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: b\n',
      /duplicate document v1alpha1\/HostnameConfig\/ is not allowed/,
    ],
    ['machine: []\n', /cannot construct !!seq into v1alpha1\.MachineConfig/],
    ['cluster:\n  controlPlane:\n    localAPIServerPort: many\n', /line 3: cannot construct !!str `many` into int/],
    ['machine: {\n', /decode error/],
    ['hello\n', /expected a YAML document at line 1/],
  ])('refuses %j', (text, message) => {
    expect(failure(text)).toMatch(message);
  });

  it('accepts each kind from its Talos version on', () => {
    const hostname = 'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: x\n';
    expect(failure(hostname, 11)).toMatch(/not registered/);
    expect(failure(hostname, 12)).toBe('');
    const api = 'apiVersion: v1alpha1\nkind: KubeAPIServerConfig\nimage: x\n';
    expect(failure(api, 13)).toMatch(/not registered/);
    expect(failure(api, 14)).toBe('');
  });

  it('skips empty documents, and distinguishes names', () => {
    const text = `---\n${control}---\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth1\n`;
    expect(decodeConfig(text, 13).documents.map((document) => document.name)).toEqual(['', 'eth0', 'eth1']);
  });
});

describe('a node refuses', () => {
  it.each<['control' | 'worker', Change, RegExp]>([
    ['control', (c) => delete c.machine, /machine instructions are required/],
    ['control', (c) => delete c.cluster, /cluster instructions are required/],
    ['control', (c) => delete c.cluster.controlPlane, /cluster controlplane endpoint is required/],
    [
      'control',
      (c) => (c.cluster.controlPlane.endpoint = '10.0.0.1:6443'),
      /invalid controlplane endpoint: hostname must not be blank/,
    ],
    ['control', (c) => (c.machine.type = 'master'), /unknown machine type "master"/],
    ['control', (c) => (c.machine.ca.key = ''), /issuing CA key is required for controlplane nodes/],
    ['control', (c) => delete c.machine.ca, /issuing CA is required/],
    ['worker', (c) => (c.machine.ca.key = 'eA=='), /issuing Talos API CA key is not allowed on non-controlplane/],
    ['worker', (c) => (c.cluster.ca.key = 'eA=='), /cluster CA key is not allowed on non-controlplane/],
    ['worker', (c) => (c.cluster.etcd = {}), /etcd config is only allowed on control plane machines/],
    ['control', (c) => (c.cluster.etcd = {}), /key\/cert combination should not be empty/],
    [
      'worker',
      (c) => (c.machine.network.interfaces[0].vip = { ip: '10.0.0.9' }),
      /virtual \(shared\) IP is not allowed on non-controlplane/,
    ],
    ['control', (c) => (c.machine.network.interfaces[0].vip = { ip: 'x' }), /failed to parse "x" as IP address/],
    ['control', (c) => (c.machine.network.interfaces[0].interface = 'eth0'), /mutually exclusive/],
    ['control', (c) => (c.machine.network.interfaces[0].addresses = ['10.0.0.300/24']), /invalid CIDR address/],
    ['control', (c) => delete c.cluster.id, /cluster discovery service requires \.cluster\.id/],
    ['control', (c) => (c.cluster.network.cni = { name: 'cilium' }), /cni name should be one of/],
    ['control', (c) => (c.persist = false), /\.persist should be enabled/],
    ['control', (c) => (c.cluster.network.dnsDomain = 'a b'), /"a b" is not a valid DNS name/],
    ['control', (c) => (c.machine.features.hostDNS.enabled = false), /requires hostDNS\.enabled/],
    [
      'worker',
      (c) => (c.machine.features.kubernetesTalosAPIAccess = { enabled: true }),
      /can only be enabled on control plane machines/,
    ],
    [
      'control',
      (c) => (c.machine.kubelet.extraConfig = { port: 1 }),
      /kubelet configuration field "port" can't be overridden/,
    ],
    [
      'control',
      (c) => (c.machine.kubelet.nodeIP = { validSubnets: ['!x'] }),
      /kubelet nodeIP subnet is not valid: "x"/,
    ],
    ['control', (c) => (c.machine.nodeTaints = { a: 'b:Never' }), /invalid taint effect: "Never"/],
    [
      'control',
      (c) => (c.cluster.inlineManifests = [{ name: 'a' }, { name: 'a' }]),
      /inline manifest name "a" is duplicate/,
    ],
    [
      'control',
      (c) => (c.machine.kubelet.image = 'kubelet'),
      /kubelet image is not valid: failed to parse Kubernetes version/,
    ],
    [
      'control',
      (c) => (c.cluster.apiServer.image = 'x:v1.30.9'),
      /version of Kubernetes 1\.30\.9 is too old to be used with Talos 1\.13\.9/,
    ],
    ['control', (c) => (c.machine.kubelet.image = 'x:v1.37.0@sha256:00'), /version of Kubernetes 1\.37\.0 is too new/],
    [
      'control',
      (c) => (c.machine.network.hostname = 'x'),
      /\.machine\.network\.hostname is already set in v1alpha1 config/,
    ],
  ])('%s: %s', (role, change, message) => {
    const text = changed(role === 'control' ? control : worker, change);
    expect(errorsOf(text).join('\n')).toMatch(message);
  });

  it('missing install instructions on metal, not on nocloud, and not once it is installed', () => {
    const text = changed(control, (c) => delete c.machine.install);
    expect(errorsOf(text)).toEqual([]);
    expect(errorsOf(text, { mode: 'metal' }).join()).toMatch(/install instructions are required in "metal" mode/);
    expect(errorsOf(text, { mode: 'metal', installed: true })).toEqual([]);
  });

  it('a disk selector that matches no disk', () => {
    const text = changed(
      control,
      (c) => (c.machine.install = { diskSelector: { serial: 'x' }, image: c.machine.install.image }),
    );
    expect(errorsOf(text, { mode: 'metal' }).join()).toMatch(/no disks matched the expression/);
    expect(errorsOf(text, { mode: 'metal', selectorFits: () => true })).toEqual([]);
  });

  it.each<[object, RegExp]>([
    [{ kind: 'LinkAliasConfig', name: 'net0' }, /LinkAliasConfig\/net0: link selector is required/],
    [{ kind: 'Layer2VIPConfig', name: '10.0.0.1' }, /Layer2VIPConfig\/10\.0\.0\.1: link must be specified/],
    [
      { kind: 'LinkConfig', name: 'eth0', addresses: [{ address: '10.0.0.1' }] },
      /LinkConfig\/eth0: address 0 must be a valid IP prefix/,
    ],
  ])('a document that violates its own rules: %j', (document, message) => {
    expect(errorsOf(changed(control, () => {}, { apiVersion: 'v1alpha1', ...document })).join()).toMatch(message);
  });

  it('new documents besides their old counterparts, and control-plane kinds on a worker (1.14)', () => {
    const document = { apiVersion: 'v1alpha1', kind: 'KubeAPIServerConfig', image: 'x:v1.36.3' };
    const errors = (text: string) => errorsOf(`${text}---\n${stringify(document)}`, { minor: 14 }).join();
    expect(errors(control)).toMatch(/\.cluster\.apiServer is already set/);
    expect(errors(worker)).toMatch(/only allowed on control plane machines: \[KubeAPIServerConfig\]/);
  });
});

describe('the meaning of a configuration', () => {
  it('is the same whether links are v1alpha1 fields or documents', () => {
    const old = viewOf(decodeConfig(control, 13)).links;
    const modern = changed(
      control,
      (c) => delete c.machine.network,
      {
        apiVersion: 'v1alpha1',
        kind: 'LinkAliasConfig',
        name: 'net0',
        selector: { match: 'mac(link.permanent_addr) == "02:00:00:00:00:01"' },
      },
      { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'net0', addresses: [{ address: '127.42.9.1/16' }] },
    );
    expect(viewOf(decodeConfig(modern, 13)).links).toEqual(old);
  });
});

describe('a change', () => {
  it.each<[Change, boolean]>([
    [(c) => (c.cluster.apiServer.extraArgs = { 'oidc-client-id': 'x' }), false],
    [(c) => (c.machine.certSANs = ['a']), false],
    [(c) => (c.machine.kubelet.extraArgs = {}), false],
    [(c) => (c.machine.features.hostDNS.resolveMemberNames = true), false],
    [(c) => (c.machine.token = 'x'), true],
    [(c) => (c.machine.files = [{ path: '/var/a', content: '' }]), true],
    [(c) => (c.machine.features.diskQuotaSupport = true), true],
  ])('%s needs a reboot: %s', (change, reboot) => {
    const reason = rebootReason(decodeConfig(control, 13), decodeConfig(changed(control, change), 13));
    expect(reason !== undefined).toBe(reboot);
  });
});
