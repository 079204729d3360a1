import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { describeWithTalosctl, talosctlFor, validateWithTalosctl } from '../../../test/talos/talosctl.ts';
import { toBase64 } from '../secrets/pem.ts';
import type { SecretsBundle } from '../secrets/secrets-bundle.ts';
import { type MachineConfigInput, renderMachineConfig } from './machine-config.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const render = (changes: Partial<MachineConfigInput> = {}): string =>
  renderMachineConfig(exampleConfigInput(bundle, changes)).reveal();
const read = (text: string) => parseAllDocuments(text).map((document) => document.toJS());
const main = (changes: Partial<MachineConfigInput> = {}) => read(render(changes))[0];

/** Keys that only a control plane has. */
const privateParts = (): string[] => [
  ...Object.values(bundle.authorities).map(({ key }) => toBase64(key.reveal())),
  toBase64(bundle.serviceAccountKey.reveal()),
  bundle.etcdEncryption.key.reveal(),
];

/** Everything that a cluster may have besides the defaults of Talos. */
const withAddOns = (cni: NonNullable<MachineConfigInput['network']['cni']>): Partial<MachineConfigInput> => ({
  network: { ...exampleConfigInput(bundle).network, cni, kubeProxy: false, kubeSpan: true },
  manifests: {
    urls: ['https://example.org/extra.yaml'],
    inline: [{ name: 'team', contents: 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n' }],
  },
});

describe('the network of a cluster', () => {
  it('is that of Talos without settings', () => {
    const { machine, cluster } = main();
    expect(cluster.network).not.toHaveProperty('cni');
    expect(cluster.proxy).not.toHaveProperty('disabled');
    expect(machine.network).not.toHaveProperty('kubespan');
    expect(cluster).not.toHaveProperty('extraManifests');
  });

  it('is that of another CNI, without kube-proxy, and with what the cluster begins with', () => {
    const urls = ['https://example.org/cni.yaml'];
    const { machine, cluster } = main(withAddOns({ name: 'custom', urls }));
    expect(cluster.network.cni).toEqual({ name: 'custom', urls });
    // The image is kept: upgrades of Kubernetes set it in turn.
    expect(cluster.proxy).toEqual({ disabled: true, image: 'registry.k8s.io/kube-proxy:v1.35.4' });
    expect(machine.network.kubespan).toEqual({ enabled: true });
    expect(cluster.extraManifests).toEqual(['https://example.org/extra.yaml']);
    expect(cluster.inlineManifests).toEqual([{ name: 'team', contents: expect.stringContaining('kind: Namespace') }]);
    const worker = main({ ...withAddOns({ name: 'none' }), role: 'worker' });
    expect(worker.cluster.network.cni).toEqual({ name: 'none' });
    for (const field of ['proxy', 'extraManifests', 'inlineManifests'])
      expect(worker.cluster).not.toHaveProperty(field);
  });

  describe.each(['1.12.11', '1.13.9', '1.14.0'])('for Talos %s', (talosVersion) => {
    const binary = talosctlFor(talosVersion);
    it.skipIf(!binary).each(['controlplane', 'worker'] as const)('is valid on a %s for talosctl', (role) => {
      for (const cni of [{ name: 'none' }, { name: 'custom', urls: ['https://example.org/cni.yaml'] }] as const) {
        const config = render({ ...withAddOns(cni), role, talosVersion, kubernetesVersion: '1.35.4' });
        expect(validateWithTalosctl(binary ?? '', 'metal', config)).toBe('');
      }
    });
  });
});

describe('a cluster whose nodes a cloud controller manager initializes', () => {
  it.each(['controlplane', 'worker'] as const)('says so on a %s, with the id of the machine beside it', (role) => {
    const { machine, cluster } = main({ role, externalCloudProvider: true });
    expect(cluster.externalCloudProvider).toEqual({ enabled: true });
    expect(machine.kubelet).not.toHaveProperty('extraArgs');
    expect(machine.nodeAnnotations).toEqual({
      'talos.clusters.openmcp.cloud/machine-id': 'truenas://nas/example-cp-0',
    });
    const own = main({ role });
    expect(own.cluster).not.toHaveProperty('externalCloudProvider');
    expect(own.machine).not.toHaveProperty('nodeAnnotations');
    expect(own.machine.kubelet.extraArgs).toEqual({ 'provider-id': 'truenas://nas/example-cp-0' });
  });

  describe.each(['1.12.11', '1.13.9', '1.14.0'])('for Talos %s', (talosVersion) => {
    const binary = talosctlFor(talosVersion);
    it.skipIf(!binary).each(['controlplane', 'worker'] as const)('is valid on a %s for talosctl', (role) => {
      const config = render({ externalCloudProvider: true, role, talosVersion, kubernetesVersion: '1.35.4' });
      expect(validateWithTalosctl(binary ?? '', 'metal', config)).toBe('');
    });
  });
});

/** Mirrors with a private authority, and a proxy. */
const withEgress = (): Partial<MachineConfigInput> => ({
  registries: {
    mirrors: [
      {
        ...{ registry: 'docker.io', overridePath: true, skipFallback: true },
        endpoints: ['https://mirror.example.org:5000/v2/docker', 'https://other.example.org'],
      },
      { registry: '*', endpoints: ['https://other.example.org'], overridePath: false, skipFallback: false },
    ],
    caBundle: bundle.authorities.kubernetes.certificate,
  },
  proxy: { http: 'http://proxy.example.org:3128', noProxy: ['.example.org', '192.0.2.0/24'] },
});

describe('the way out of a cluster', () => {
  it('is direct without settings', () => {
    for (const field of ['registries', 'env']) expect(main().machine).not.toHaveProperty(field);
    expect(main({ registries: { mirrors: [] } }).machine).not.toHaveProperty('registries');
  });

  it('goes by mirrors, which are trusted by their authority', () => {
    const { registries } = main(withEgress()).machine;
    expect(registries.mirrors).toEqual({
      'docker.io': {
        endpoints: ['https://mirror.example.org:5000/v2/docker', 'https://other.example.org'],
        ...{ overridePath: true, skipFallback: true },
      },
      '*': { endpoints: ['https://other.example.org'] },
    });
    const tls = { ca: toBase64(bundle.authorities.kubernetes.certificate) };
    expect(registries.config).toEqual({ 'mirror.example.org:5000': { tls }, 'other.example.org': { tls } });
  });

  it('goes by a proxy, but not to the nodes, Pods and Services of the cluster', () => {
    const { env } = main(withEgress()).machine;
    expect(env).toEqual({ http_proxy: 'http://proxy.example.org:3128', no_proxy: expect.any(String) });
    expect(env.no_proxy.split(',')).toEqual([
      ...['localhost', '127.0.0.1', '::1', '192.168.10.20', '192.168.10.21/24'],
      ...['10.244.0.0/16', '10.96.0.0/12', '.cluster.local', '.example.org', '192.0.2.0/24'],
    ]);
  });

  describe.each(['1.12.11', '1.13.9', '1.14.0'])('for Talos %s', (talosVersion) => {
    const binary = talosctlFor(talosVersion);
    it.skipIf(!binary).each(['controlplane', 'worker'] as const)('is valid on a %s for talosctl', (role) => {
      const config = render({ ...withEgress(), role, talosVersion, kubernetesVersion: '1.35.4' });
      expect(validateWithTalosctl(binary ?? '', 'metal', config)).toBe('');
    });
  });
});

describe('the configuration of a control plane', () => {
  it('pins all five images, because the defaults follow Talos', () => {
    const { machine, cluster } = main({ kubernetesVersion: 'v1.35.4' });
    const images = [machine.kubelet, cluster.apiServer, cluster.controllerManager, cluster.scheduler, cluster.proxy];
    for (const { image } of images)
      expect(image).toMatch(/^(ghcr\.io\/siderolabs\/kubelet|registry\.k8s\.io\/kube-[a-z-]+):v1\.35\.4$/);
  });

  it.each(['1.12.5', '1.13.9', '1.14.0'])(
    'renders single components in another version for Talos %s',
    (talosVersion) => {
      const components = { apiServer: '1.35.4', scheduler: 'v1.35.4' };
      const documents = read(render({ talosVersion, kubernetesVersion: '1.34.1', components }));
      const [{ machine, cluster }] = documents;
      const server = documents.find(({ kind }) => kind === 'KubeAPIServerConfig') ?? cluster.apiServer;
      expect(server.image).toBe('registry.k8s.io/kube-apiserver:v1.35.4');
      expect(cluster.scheduler.image).toBe('registry.k8s.io/kube-scheduler:v1.35.4');
      expect(cluster.controllerManager.image).toBe('registry.k8s.io/kube-controller-manager:v1.34.1');
      expect(cluster.proxy.image).toBe('registry.k8s.io/kube-proxy:v1.34.1');
      expect(machine.kubelet.image).toBe('ghcr.io/siderolabs/kubelet:v1.34.1');
    },
  );

  it('sets the host name in a separate document', () => {
    expect(read(render())[1]).toEqual({ apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'example-cp-0' });
  });

  it('selects the network card by MAC, excludes links that share the MAC, and has the virtual address', () => {
    expect(main().machine.network).toEqual({
      interfaces: [
        {
          deviceSelector: { hardwareAddr: '00:a0:98:11:22:33', physical: true },
          dhcp: false,
          addresses: ['192.168.10.21/24'],
          routes: [{ network: '0.0.0.0/0', gateway: '192.168.10.1' }],
          vip: { ip: '192.168.10.20' },
        },
      ],
      nameservers: ['192.168.10.1'],
    });
  });

  it('T38: restricts kubelet and etcd to its own address, so that neither uses the virtual one', () => {
    const { machine, cluster } = main();
    expect(machine.kubelet.nodeIP.validSubnets).toEqual(['192.168.10.21/32']);
    expect(cluster.etcd.advertisedSubnets).toEqual(['192.168.10.21/32']);
  });

  it('reaches a gateway outside of its prefix on the link itself', () => {
    const links = [
      {
        mac: 'aa:aa:aa:aa:aa:aa',
        addresses: ['203.0.113.7/32'],
        gateway: '203.0.113.1',
        onLinkGateway: true,
        mtu: 1400,
      },
      { mac: 'bb:bb:bb:bb:bb:bb', addresses: ['2001:db8::7/64'], gateway: 'fe80::1' },
    ];
    const { interfaces } = main({ hardware: { ...exampleConfigInput(bundle).hardware, links } }).machine.network;
    expect(interfaces[0]).toMatchObject({
      mtu: 1400,
      routes: [{ network: '203.0.113.1/32' }, { network: '0.0.0.0/0', gateway: '203.0.113.1' }],
    });
    expect(interfaces[1].routes).toEqual([{ network: '::/0', gateway: 'fe80::1' }]);
    expect(interfaces[1]).not.toHaveProperty('vip');
  });

  it('uses DHCP on a link without addresses', () => {
    const links = [{ mac: 'aa:aa:aa:aa:aa:aa', addresses: [] }];
    const { machine } = main({ hardware: { ...exampleConfigInput(bundle).hardware, links } });
    expect(machine.network.interfaces).toEqual([expect.objectContaining({ dhcp: true })]);
    expect(machine.kubelet).not.toHaveProperty('nodeIP');
  });

  it('passes taints to Talos, and permits workloads only on request', () => {
    const taints = [
      { key: 'a', value: 'b', effect: 'NoExecute' as const },
      { key: 'c', value: '', effect: 'NoSchedule' as const },
    ];
    expect(main({ nodeTaints: taints }).machine.nodeTaints).toEqual({ a: 'b:NoExecute', c: 'NoSchedule' });
    expect(main().cluster).not.toHaveProperty('allowSchedulingOnControlPlanes');
    expect(main({ schedulableControlPlanes: true }).cluster.allowSchedulingOnControlPlanes).toBe(true);
  });

  it('sets the provider id on the kubelet, the only way to set it on the Node', () => {
    expect(main().machine.kubelet.extraArgs).toEqual({ 'provider-id': 'truenas://nas/example-cp-0' });
  });

  it('disables discovery, or sets a private discovery service', () => {
    expect(main({ discovery: { enabled: false } }).cluster.discovery).toEqual({ enabled: false });
    expect(main({ discovery: { enabled: true, endpoint: 'https://d.example.org/' } }).cluster.discovery).toEqual({
      enabled: true,
      registries: { kubernetes: { disabled: true }, service: { endpoint: 'https://d.example.org/' } },
    });
  });
});

describe('the configuration of a worker', () => {
  it('registers with its taints, because a worker may not change them later', () => {
    const nodeTaints = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' as const }];
    const { machine } = main({ role: 'worker', nodeTaints });
    expect(machine.kubelet.extraConfig).toEqual({ registerWithTaints: nodeTaints });
    expect(machine).not.toHaveProperty('nodeTaints');
  });

  it('S14: has neither etcd nor the virtual address nor a private key', () => {
    const text = render({ role: 'worker' });
    const { machine, cluster } = main({ role: 'worker' });
    expect(cluster).not.toHaveProperty('etcd');
    expect(JSON.stringify(machine.network)).not.toContain('vip');
    for (const secret of privateParts()) expect(text).not.toContain(secret);
  });
});

describe('patches', () => {
  it('that break the configuration are rejected with all problems, and without a secret', () => {
    const patches = [
      {
        from: 'talos.patches[0]',
        document: { machine: { type: 'worker', features: { hostDNS: { enabled: false } } } },
      },
    ];
    try {
      render({ patches });
      expect.unreachable();
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      expect(code).toBe('TALOS_CONFIG_INVALID');
      expect(message).toContain('machine.type must stay controlplane');
      expect(message).toContain('machine.features.hostDNS.forwardKubeDNSToHost needs hostDNS.enabled');
      expect(message).not.toContain(bundle.machineToken.reveal());
    }
  });

  it('write texts that look like other YAML types as texts', () => {
    const sysctls = { a: 'on', b: '0644', c: '1e3', d: '2026-01-01', e: 'null', f: '1:30', g: '0o17', 'h.i': '~' };
    const text = render({ patches: [{ from: 'p', document: { machine: { sysctls } } }] });
    for (const [key, value] of Object.entries(sysctls)) expect(text).toContain(`    ${key}: "${value}"\n`);
  });
});

const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}[a-z0-9]$/);
const octet = fc.integer({ min: 1, max: 254 });
const ip = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'));
const link = fc.record(
  {
    mac: fc
      .array(fc.integer({ min: 0, max: 255 }), { minLength: 6, maxLength: 6 })
      .map((bytes) => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')),
    addresses: fc.array(
      fc.tuple(ip, fc.integer({ min: 8, max: 32 })).map(([host, bits]) => `${host}/${bits}`),
      { maxLength: 2 },
    ),
    gateway: ip,
    onLinkGateway: fc.boolean(),
    mtu: fc.integer({ min: 1280, max: 9000 }),
  },
  { requiredKeys: ['mac', 'addresses'] },
);
const anyInput = fc.record({
  version: fc.constantFrom(['1.12.11', '1.35.4'], ['1.13.9', '1.36.3'], ['1.14.0', '1.36.0'], ['v1.13.0', 'v1.31.0']),
  role: fc.constantFrom('controlplane' as const, 'worker' as const),
  hostname: label,
  clusterName: label,
  links: fc.uniqueArray(link, { minLength: 1, maxLength: 3, selector: ({ mac }) => mac }),
  nameServers: fc.array(ip, { maxLength: 3 }),
  timeServers: fc.array(label, { maxLength: 2 }),
  vip: fc.option(ip, { nil: undefined }),
  sans: fc.array(fc.oneof(ip, label), { maxLength: 3 }),
  labels: fc.dictionary(label, label, { maxKeys: 3 }),
  taints: fc.array(
    fc.record({
      key: label,
      value: fc.oneof(fc.constant(''), label),
      effect: fc.constantFrom('NoSchedule' as const, 'NoExecute' as const),
    }),
    { maxLength: 2 },
  ),
  schedulable: fc.boolean(),
  discovery: fc.boolean(),
  platform: fc.constantFrom('metal' as const, 'nocloud' as const),
});

function toInput(
  secrets: SecretsBundle,
  any: typeof anyInput extends fc.Arbitrary<infer T> ? T : never,
): MachineConfigInput {
  const [talosVersion = '', kubernetesVersion = ''] = any.version;
  const base = exampleConfigInput(secrets);
  return {
    ...base,
    talosVersion,
    kubernetesVersion,
    role: any.role,
    hostname: any.hostname,
    clusterName: any.clusterName,
    hardware: { ...base.hardware, imagePlatform: any.platform, links: any.links as never },
    network: { ...base.network, nameServers: any.nameServers, timeServers: any.timeServers },
    ...(any.vip === undefined ? {} : { vip: any.vip }),
    talosCertSANs: any.sans,
    apiServerCertSANs: any.sans,
    nodeLabels: any.labels,
    nodeTaints: any.taints,
    schedulableControlPlanes: any.schedulable,
    discovery: { enabled: any.discovery },
  };
}

describe('any input', () => {
  it('renders the same YAML each time, with exactly the secrets of its role', () => {
    fc.assert(
      fc.property(anyInput, (any) => {
        const input = toInput(bundle, any);
        const text = renderMachineConfig(input).reveal();
        expect(renderMachineConfig(input).reveal()).toBe(text);
        const documents = parseAllDocuments(text);
        for (const document of documents) expect(document.errors).toEqual([]);
        const values = new Set(leaves(documents.map((document) => document.toJS())));
        for (const secret of privateParts()) expect(values.has(secret)).toBe(any.role === 'controlplane');
        for (const secret of [bundle.machineToken, bundle.bootstrapToken])
          expect(values.has(secret.reveal())).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

function leaves(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value];
}

describeWithTalosctl(() => {
  it('renders a configuration that is valid in both modes, without a warning', () => {
    const examples = fc.sample(anyInput, { numRuns: 12, seed: 1 });
    for (const any of examples) {
      const text = renderMachineConfig(toInput(bundle, any)).reveal();
      const binary = talosctlFor(any.version[0] ?? '');
      if (binary === undefined) continue;
      for (const mode of ['metal', 'cloud'] as const) expect(validateWithTalosctl(binary, mode, text)).toBe('');
    }
  }, 120_000);
});
