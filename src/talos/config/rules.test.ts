import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { exampleBundle, exampleInput } from '../../../test/talos/example.ts';
import { validate, withTalosctl, withTalosctl114 } from '../../../test/talos/talosctl.ts';
import { describeMachineConfig, type MachineConfigInput } from '../machine-config.ts';
import type { SecretsBundle } from '../secrets.ts';
import type { ConfigDocument } from './document.ts';
import { findProblems } from './rules.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleBundle();
});

type Role = 'controlplane' | 'worker';
const gone = { $patch: 'delete' };
const document = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

function documents(role: Role, patches: readonly ConfigDocument[], changes: Partial<MachineConfigInput> = {}) {
  const input = exampleInput(bundle, {
    role,
    patches: patches.map((one, i) => ({ from: `patches[${i}]`, document: one })),
    ...changes,
  });
  return { documents: describeMachineConfig(input), talosVersion: input.talosVersion };
}

function problems(role: Role, patches: readonly ConfigDocument[], changes: Partial<MachineConfigInput> = {}) {
  const made = documents(role, patches, changes);
  return findProblems(made.documents, { role, talosVersion: made.talosVersion });
}

interface Case {
  readonly what: string;
  readonly role?: Role;
  readonly patch: ConfigDocument;
  readonly problem: string;
  /** talosctl cannot see it: only the node, Kubernetes or a later boot would. */
  readonly onlyWe?: boolean;
  readonly changes?: Partial<MachineConfigInput>;
}

const eth1 = { interface: 'eth1' };

const cases: readonly Case[] = [
  { what: 'another role', patch: { machine: { type: 'worker' } }, problem: 'machine.type must stay controlplane' },
  { what: 'no persistence', patch: { persist: false }, problem: 'persist must not be false' },
  { what: 'no OS authority', patch: { machine: { ca: gone } }, problem: 'machine.ca.crt is missing' },
  {
    what: 'no OS key on a control plane',
    patch: { machine: { ca: { key: gone } } },
    problem: 'machine.ca.key is missing',
  },
  {
    what: 'an OS key on a worker',
    role: 'worker',
    patch: { machine: { ca: { key: 'eA==' } } },
    problem: 'machine.ca.key must not be',
  },
  { what: 'no installation', patch: { machine: { install: gone } }, problem: 'machine.install is missing' },
  { what: 'no disk', patch: { machine: { install: { disk: gone } } }, problem: 'machine.install needs disk' },
  {
    what: 'kernel arguments that are ignored',
    patch: { machine: { install: { extraKernelArgs: ['a'] } } },
    problem: 'name the arguments in talos.kernelArguments',
  },
  {
    what: 'extensions that are ignored',
    patch: { machine: { install: { extensions: [{ image: 'x' }] } } },
    problem: 'name the extensions in talos.extensions',
  },
  {
    what: 'a kubelet key of Talos',
    patch: { machine: { kubelet: { extraConfig: { staticPodPath: '/x' } } } },
    problem: 'machine.kubelet.extraConfig.staticPodPath',
  },
  {
    what: 'a node IP that is no subnet',
    patch: { machine: { kubelet: { nodeIP: { validSubnets: ['x'] } } } },
    problem: 'nodeIP.validSubnets',
  },
  {
    what: 'DNS forwarding with nothing to forward to',
    patch: { machine: { features: { hostDNS: { enabled: false } } } },
    problem: 'needs hostDNS.enabled',
  },
  {
    what: 'a port beyond all ports',
    patch: { machine: { features: { kubePrism: { port: 70_000 } } } },
    problem: 'kubePrism.port',
    onlyWe: true,
  },
  {
    what: 'Talos access from workers',
    role: 'worker',
    patch: { machine: { features: { kubernetesTalosAPIAccess: { enabled: true } } } },
    problem: 'only be enabled on control planes',
  },
  {
    what: 'a label that is none',
    patch: { machine: { nodeLabels: { 'a b': 'c' } } },
    problem: 'a b is no valid label',
  },
  {
    what: 'a label value that is none',
    patch: { machine: { nodeLabels: { a: 'b c' } } },
    problem: 'a is no valid label',
  },
  {
    what: 'a taint that is none',
    patch: { machine: { nodeTaints: { a: 'b:Never' } } },
    problem: 'a is no valid taint',
  },
  {
    what: 'an annotation that is none',
    patch: { machine: { nodeAnnotations: { '/a': 'b' } } },
    problem: 'no valid annotation',
  },
  {
    what: 'a label that no worker may give itself',
    role: 'worker',
    patch: { machine: { nodeLabels: { 'node-role.kubernetes.io/worker': '' } } },
    problem: 'lets no worker give itself',
    onlyWe: true,
  },
  {
    what: 'taints that no worker may give itself',
    role: 'worker',
    patch: { machine: { nodeTaints: { a: 'NoSchedule' } } },
    problem: 'use the taints of the worker pool',
    onlyWe: true,
  },
  {
    what: 'an interface found in two ways',
    patch: { machine: { network: { interfaces: [{ ...eth1, deviceSelector: { driver: 'x' } }] } } },
    problem: 'either interface or deviceSelector',
  },
  {
    what: 'an interface found in no way',
    patch: { machine: { network: { interfaces: [{ mtu: 1500 }] } } },
    problem: 'either interface or deviceSelector',
  },
  {
    what: 'an address that is none',
    patch: { machine: { network: { interfaces: [{ ...eth1, addresses: ['x'] }] } } },
    problem: 'interfaces[1].addresses',
  },
  {
    what: 'a virtual address on a worker',
    role: 'worker',
    patch: { machine: { network: { interfaces: [{ ...eth1, vip: { ip: '192.0.2.1' } }] } } },
    problem: 'interfaces[1].vip must not be on a worker',
  },
  {
    what: 'a virtual address on a worker’s VLAN',
    role: 'worker',
    patch: { machine: { network: { interfaces: [{ ...eth1, vlans: [{ vlanId: 5, vip: { ip: '192.0.2.1' } }] }] } } },
    problem: 'vlans[0].vip must not be',
  },
  {
    what: 'a virtual address that is none',
    patch: { machine: { network: { interfaces: [{ ...eth1, vip: { ip: 'x' } }] } } },
    problem: 'vip.ip is no address',
    onlyWe: true,
  },
  {
    what: 'an endpoint that is no URL',
    patch: { cluster: { controlPlane: { endpoint: 'c.example.org:6443' } } },
    problem: 'cluster.controlPlane.endpoint',
  },
  {
    what: 'a Kubernetes key on a worker',
    role: 'worker',
    patch: { cluster: { ca: { key: 'eA==' } } },
    problem: 'cluster.ca.key must not be',
  },
  {
    what: 'no service-account key',
    patch: { cluster: { serviceAccount: gone } },
    problem: 'cluster.serviceAccount.key is missing',
    onlyWe: true,
  },
  {
    what: 'etcd on a worker',
    role: 'worker',
    patch: { cluster: { etcd: { image: 'x' } } },
    problem: 'cluster.etcd must not be',
  },
  { what: 'no etcd authority', patch: { cluster: { etcd: { ca: gone } } }, problem: 'cluster.etcd.ca is missing' },
  {
    what: 'two kinds of etcd subnets',
    patch: { cluster: { etcd: { subnet: '10.0.0.0/8' } } },
    problem: 'exclude each other',
  },
  {
    what: 'an etcd subnet that is none',
    patch: { cluster: { etcd: { listenSubnets: ['x'] } } },
    problem: 'cluster.etcd.listenSubnets',
  },
  {
    what: 'a pod subnet that is none',
    patch: { cluster: { network: { podSubnets: ['10.244.0.0'] } } },
    problem: 'cluster.network.podSubnets',
    onlyWe: true,
  },
  {
    what: 'a DNS domain that is none',
    patch: { cluster: { network: { dnsDomain: 'a..b' } } },
    problem: 'dnsDomain is no DNS name',
  },
  {
    what: 'an unknown CNI',
    patch: { cluster: { network: { cni: { name: 'cilium' } } } },
    problem: 'flannel, custom or none',
  },
  {
    what: 'URLs for a CNI that has none',
    patch: { cluster: { network: { cni: { name: 'none', urls: ['https://x/y'] } } } },
    problem: 'cni.urls needs name: custom',
  },
  {
    what: 'flannel options for another CNI',
    patch: { cluster: { network: { cni: { name: 'none', flannel: { extraArgs: ['a'] } } } } },
    problem: 'needs name: flannel',
  },
  { what: 'discovery without an id', patch: { cluster: { id: gone } }, problem: 'needs cluster.id' },
  {
    what: 'a discovery service with a path',
    patch: { cluster: { discovery: { registries: { service: { endpoint: 'https://x/y' } } } } },
    problem: 'without a path',
  },
  {
    what: 'a manifest without a name',
    patch: { cluster: { inlineManifests: [{ contents: 'x' }] } },
    problem: 'every manifest needs a name',
  },
  {
    what: 'two manifests of one name',
    patch: {
      cluster: {
        inlineManifests: [
          { name: 'a', contents: 'x' },
          { name: 'a', contents: 'y' },
        ],
      },
    },
    problem: 'the same name',
  },
  {
    what: 'a manifest that is no URL',
    patch: { cluster: { extraManifests: ['x'] } },
    problem: 'cluster.extraManifests',
    onlyWe: true,
  },
  {
    what: 'an image without a version',
    patch: { cluster: { apiServer: { image: 'registry.example.org/kube-apiserver:latest' } } },
    problem: 'cluster.apiServer.image needs a tag',
    onlyWe: true,
  },
  {
    what: 'an image that this Talos does not run',
    patch: { machine: { kubelet: { image: 'ghcr.io/siderolabs/kubelet:v1.29.0' } } },
    problem: 'machine.kubelet.image: Talos 1.13.9 runs Kubernetes 1.31 to 1.36',
    onlyWe: true,
  },
  {
    what: 'an argument that is a number',
    patch: { machine: { kubelet: { extraArgs: { v: 4 } } } },
    problem: 'machine.kubelet.extraArgs.v must be a text',
    onlyWe: true,
  },
  {
    what: 'a repeated argument, which Talos declares and cannot read',
    patch: { cluster: { apiServer: { extraArgs: { a: ['1', '2'] } } } },
    problem: 'cluster.apiServer.extraArgs.a must be a text',
  },
  {
    what: 'a host name with a generator',
    patch: document('HostnameConfig', { auto: 'stable' }),
    problem: 'exclude each other',
  },
  {
    what: 'no host name at all',
    patch: document('HostnameConfig', { hostname: gone }),
    problem: 'HostnameConfig needs hostname or auto',
  },
  {
    what: 'a host name that is too long',
    patch: document('HostnameConfig', { hostname: 'a'.repeat(64) }),
    problem: 'HostnameConfig.hostname is too long',
  },
  {
    what: 'two host names',
    patch: { machine: { network: { hostname: 'x' } } },
    problem: 'HostnameConfig cannot stand beside machine.network.hostname',
  },
  {
    what: 'two lists of name servers',
    patch: document('ResolverConfig', { nameservers: [{ address: '192.0.2.1' }] }),
    problem: 'ResolverConfig cannot stand beside machine.network.nameservers',
  },
  {
    what: 'two lists of time servers',
    patch: document('TimeSyncConfig', { ntp: { servers: ['x'] } }),
    problem: 'TimeSyncConfig cannot stand beside machine.time.servers',
  },
];

const later: readonly Case[] = [
  {
    what: 'an API server twice',
    patch: document('KubeAPIServerConfig', { image: 'registry.k8s.io/kube-apiserver:v1.35.4' }),
    problem: 'KubeAPIServerConfig cannot stand beside cluster.apiServer',
  },
  {
    what: 'an API server document without authentication',
    patch: document('KubeAPIServerConfig', {}),
    problem: 'needs KubeAuthenticationConfig',
    onlyWe: true,
  },
  {
    what: 'an API server document without authorizers',
    patch: document('KubeAPIServerConfig', {}),
    problem: 'needs KubeAuthorizerConfig',
    onlyWe: true,
  },
  {
    what: 'a kubelet twice',
    patch: document('KubeletConfig', { image: 'ghcr.io/siderolabs/kubelet:v1.35.4' }),
    problem: 'KubeletConfig cannot stand beside machine.kubelet',
  },
  {
    what: 'a repeated argument in a document',
    patch: document('KubeletConfig', { image: 'ghcr.io/siderolabs/kubelet:v1.35.4', extraArgs: { a: ['1', '2'] } }),
    problem: 'KubeletConfig.extraArgs.a must be a text',
  },
  {
    what: 'a document of control planes',
    role: 'worker',
    patch: document('KubeCoreDNSConfig', { enabled: true }),
    problem: 'KubeCoreDNSConfig must not be on a worker',
  },
].map((one) => ({ ...one, changes: { talosVersion: '1.14.0' } }) as Case);

const all = [...cases, ...later];

describe('what Talos would refuse is refused here, with the path', () => {
  it.each(all)('$what', ({ role = 'controlplane', patch, problem, changes }) => {
    expect(problems(role, [patch], changes).join('\n')).toContain(problem);
  });

  it('says nothing about a configuration as it is rendered', () => {
    for (const role of ['controlplane', 'worker'] as const) {
      for (const talosVersion of ['1.12.11', '1.13.9', '1.14.0'])
        expect(problems(role, [], { talosVersion })).toEqual([]);
    }
  });
});

/** What platform teams really do. */
const good: readonly { readonly what: string; readonly role?: Role; readonly patches: readonly ConfigDocument[] }[] = [
  {
    what: 'Cilium in place of flannel and kube-proxy',
    patches: [
      { cluster: { network: { cni: { name: 'none' } }, proxy: { disabled: true }, coreDNS: { disabled: true } } },
    ],
  },
  {
    what: 'a mirror, with a CA of its own',
    patches: [
      document('RegistryMirrorConfig', {
        name: 'docker.io',
        endpoints: [{ url: 'https://mirror.example.org' }],
        skipFallback: true,
      }),
      document('RegistryTLSConfig', { name: 'mirror.example.org', insecureSkipVerify: true }),
    ],
  },
  {
    what: 'documents of their own for name servers and time',
    patches: [
      { machine: { network: { nameservers: gone }, time: gone } },
      document('ResolverConfig', {
        nameservers: [{ address: '192.0.2.1' }],
        searchDomains: { domains: ['example.org'] },
      }),
      document('TimeSyncConfig', { ntp: { servers: ['ntp.example.org'] } }),
    ],
  },
  {
    what: 'volumes, sysctls, modules, a second VLAN and jumbo frames on the node’s own card',
    role: 'worker',
    patches: [
      document('VolumeConfig', { name: 'EPHEMERAL', provisioning: { maxSize: '50GiB' } }),
      document('UserVolumeConfig', {
        name: 'data',
        provisioning: { diskSelector: { match: '!system_disk' }, minSize: '10GiB' },
      }),
      {
        machine: {
          sysctls: { 'vm.max_map_count': '262144' },
          kernel: { modules: [{ name: 'drbd', parameters: ['usermode_helper=disabled'] }] },
          kubelet: {
            extraMounts: [{ destination: '/var/x', type: 'bind', source: '/var/x', options: ['bind', 'rw'] }],
            extraConfig: { maxPods: 200 },
          },
          network: {
            interfaces: [
              {
                deviceSelector: { hardwareAddr: '00:a0:98:11:22:33', physical: true },
                mtu: 9000,
                vlans: [{ vlanId: 5, addresses: ['10.5.0.2/24'] }],
              },
            ],
          },
        },
      },
    ],
  },
  {
    what: 'a firewall',
    patches: [
      document('NetworkDefaultActionConfig', { ingress: 'block' }),
      document('NetworkRuleConfig', {
        name: 'api',
        portSelector: { ports: [6443, '50000-50001'], protocol: 'tcp' },
        ingress: [{ subnet: '192.0.2.0/24' }],
      }),
    ],
  },
  {
    what: 'single sign-on and a louder audit log at the API server',
    patches: [
      {
        cluster: {
          apiServer: {
            extraArgs: { 'oidc-issuer-url': 'https://id.example.org', 'oidc-required-claim': 'a=b' },
            auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] },
          },
        },
      },
    ],
  },
];

describe('what platform teams really do is accepted', () => {
  it.each(good)('$what', ({ role = 'controlplane', patches }) => {
    expect(problems(role, patches)).toEqual([]);
  });
});

/** The API server in the form of Talos 1.14, in place of its section. */
const modern: readonly ConfigDocument[] = [
  { cluster: { apiServer: gone } },
  document('KubeAPIServerConfig', {
    image: 'registry.k8s.io/kube-apiserver:v1.35.4',
    certExtraSANs: ['a.example.org'],
  }),
  document('KubeAuthenticationConfig', { configuration: { anonymous: { enabled: false } } }),
  document('KubeAuthorizerConfig', { name: 'node', type: 'Node' }),
  document('KubeAuthorizerConfig', { name: 'rbac', type: 'RBAC' }),
];

describe('a document of Talos 1.14 in place of a section', () => {
  it('is accepted', () => {
    expect(problems('controlplane', modern, { talosVersion: '1.14.0' })).toEqual([]);
  });

  it('says which Kubernetes runs, as the section did', () => {
    const named = (image: string) => [...modern, document('KubeAPIServerConfig', { image })];
    const with14 = (image: string) => problems('controlplane', named(image), { talosVersion: '1.14.0' });
    expect(with14('kube-apiserver')).toEqual([
      'KubeAPIServerConfig.image needs a tag with the version, like :v1.35.4.',
    ]);
    expect(with14('kube-apiserver:v1.20.1').join()).toMatch(/^KubeAPIServerConfig\.image: .*1\.20/);
  });
});

const text = (role: Role, patches: readonly ConfigDocument[], changes: Partial<MachineConfigInput> = {}) =>
  documents(role, patches, changes)
    .documents.map((one) =>
      stringify(one, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' }),
    )
    .join('---\n');

withTalosctl((talosctl) => {
  it.each(cases.filter(({ onlyWe }) => !onlyWe))(
    'talosctl refuses too: $what',
    ({ role = 'controlplane', patch, changes }) => {
      expect(validate(talosctl, 'metal', text(role, [patch], changes))).not.toBe('');
    },
  );

  it.each(good)('talosctl accepts too: $what', ({ role = 'controlplane', patches }) => {
    expect(validate(talosctl, 'cloud', text(role, patches))).toBe('');
  });
});

withTalosctl114((talosctl) => {
  it('talosctl 1.14 accepts a document in place of a section too', () => {
    expect(validate(talosctl, 'cloud', text('controlplane', modern, { talosVersion: '1.14.0' }))).toBe('');
  });

  it.each(later.filter(({ onlyWe }) => !onlyWe))(
    'talosctl 1.14 refuses too: $what',
    ({ role = 'controlplane', patch, changes }) => {
      expect(validate(talosctl, 'metal', text(role, [patch], changes))).not.toBe('');
    },
  );
});
