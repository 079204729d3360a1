import fc from 'fast-check';
import { subsetOf } from './strings.ts';

type Document = Record<string, unknown>;

/** A change that platform teams make with patches. */
interface PatchExample {
  readonly what: string;
  /** The first Talos minor that supports it. */
  readonly since: number;
  readonly documents: readonly Document[];
  /** The same for Talos 1.14 and later, where the format differs. */
  readonly modern?: readonly Document[];
}

const deletePatch = { $patch: 'delete' };
const document = (kind: string, content: Document): Document => ({ apiVersion: 'v1alpha1', kind, ...content });
const patchExample = (what: string, documents: readonly Document[], since = 12): PatchExample => ({
  what,
  since,
  documents,
});
/** For the API server, which has separate documents since Talos 1.14. */
const apiServerPatchExample = (what: string, apiServer: Document, modern: Document): PatchExample => ({
  ...patchExample(what, [{ cluster: { apiServer } }]),
  modern: [modern],
});

/** For every node. */
const allNodeExamples: readonly PatchExample[] = [
  patchExample('sysctls', [{ machine: { sysctls: { 'vm.max_map_count': '262144' } } }]),
  patchExample('kernel modules', [
    { machine: { kernel: { modules: [{ name: 'drbd', parameters: ['usermode_helper=disabled'] }] } } },
  ]),
  patchExample('a kubelet setting', [{ machine: { kubelet: { extraConfig: { maxPods: 200 } } } }]),
  patchExample('a kubelet argument', [
    { machine: { kubelet: { extraArgs: { 'node-status-update-frequency': '5s' } } } },
  ]),
  patchExample('a mount', [
    {
      machine: {
        kubelet: { extraMounts: [{ destination: '/var/x', type: 'bind', source: '/var/x', options: ['bind', 'rw'] }] },
      },
    },
  ]),
  patchExample('a second network card', [
    { machine: { network: { interfaces: [{ interface: 'eth1', dhcp: true }] } } },
  ]),
  patchExample('host entries', [
    { machine: { network: { extraHostEntries: [{ ip: '198.51.100.9', aliases: ['registry.example.org'] }] } } },
  ]),
  patchExample('a registry mirror', [
    document('RegistryMirrorConfig', {
      name: 'docker.io',
      endpoints: [{ url: 'https://mirror.example.org' }],
      skipFallback: true,
    }),
    document('RegistryTLSConfig', { name: 'mirror.example.org', insecureSkipVerify: true }),
  ]),
  patchExample('a volume', [document('VolumeConfig', { name: 'EPHEMERAL', provisioning: { maxSize: '50GiB' } })]),
  patchExample('a firewall', [
    document('NetworkDefaultActionConfig', { ingress: 'block' }),
    document('NetworkRuleConfig', {
      name: 'api',
      portSelector: { ports: [6443, '50000-50001'], protocol: 'tcp' },
      ingress: [{ subnet: '192.0.2.0/24' }],
    }),
  ]),
  patchExample('name servers in a document', [
    { machine: { network: { nameservers: deletePatch } } },
    document('ResolverConfig', {
      nameservers: [{ address: '192.0.2.1' }],
      searchDomains: { domains: ['example.org'] },
    }),
  ]),
  patchExample('no KubePrism', [{ machine: { features: { kubePrism: { enabled: false } } } }]),
  patchExample('annotations', [{ machine: { nodeAnnotations: { 'example.org/rack': 'a 7' } } }]),
  patchExample('the kernel log', [document('KmsgLogConfig', { name: 'remote', url: 'tcp://198.51.100.7:514' })]),
  patchExample('a blackhole route', [document('BlackholeRouteConfig', { name: '203.0.113.0/24' })], 13),
];

/** For control planes. */
const controlPlaneExamples: readonly PatchExample[] = [
  patchExample('another CNI', [
    { cluster: { network: { cni: { name: 'none' } }, proxy: { disabled: true }, coreDNS: { disabled: true } } },
  ]),
  apiServerPatchExample(
    'single sign-on',
    { extraArgs: { 'oidc-issuer-url': 'https://id.example.org', 'oidc-client-id': 'kubernetes' } },
    document('KubeAuthenticationConfig', {
      configuration: {
        anonymous: { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }, { path: '/healthz' }] },
        jwt: [
          {
            issuer: { url: 'https://id.example.org', audiences: ['kubernetes'] },
            claimMappings: { username: { claim: 'sub', prefix: 'sso:' } },
          },
        ],
      },
    }),
  ),
  apiServerPatchExample(
    'a louder audit log',
    { auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] } },
    document('KubeAuditPolicyConfig', {
      configuration: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] },
    }),
  ),
  apiServerPatchExample(
    'fewer privileges',
    { admissionControl: [{ name: 'PodSecurity', configuration: { defaults: { enforce: 'restricted' } } }] },
    document('KubeAdmissionControlConfig', {
      name: 'PodSecurity',
      configuration: { defaults: { enforce: 'restricted' } },
    }),
  ),
  patchExample('manifests', [
    {
      cluster: {
        inlineManifests: [{ name: 'team', contents: 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n' }],
      },
    },
  ]),
  patchExample('access to Talos from Pods', [
    {
      machine: {
        features: {
          kubernetesTalosAPIAccess: {
            enabled: true,
            allowedRoles: ['os:reader'],
            allowedKubernetesNamespaces: ['kube-system'],
          },
        },
      },
    },
  ]),
  patchExample('an etcd argument', [{ cluster: { etcd: { extraArgs: { 'quota-backend-bytes': '4294967296' } } } }]),
  patchExample(
    'CoreDNS in a document',
    [
      { cluster: { coreDNS: { disabled: false } } },
      { cluster: { coreDNS: deletePatch } },
      document('KubeCoreDNSConfig', { enabled: false }),
    ],
    14,
  ),
  patchExample(
    'kube-proxy in a document',
    [{ cluster: { proxy: deletePatch } }, document('KubeProxyConfig', { enabled: false })],
    14,
  ),
];

/** For workers. */
const workerExamples: readonly PatchExample[] = [
  patchExample('user volumes', [
    document('UserVolumeConfig', {
      name: 'data',
      provisioning: { diskSelector: { match: '!system_disk' }, minSize: '10GiB' },
    }),
  ]),
  patchExample('huge pages', [{ machine: { sysctls: { 'vm.nr_hugepages': '1024' } } }]),
  patchExample('more labels', [{ machine: { nodeLabels: { 'example.org/disk': 'fast' } } }]),
];

/** The chosen patches. They are rendered once the Talos version is known. */
export interface PatchesByTarget {
  /** The values of `talos.patches`, `controlPlane.patches` and `workerPools[].patches` for a Talos minor such as 13. */
  readonly talos: (minor: number) => Document[];
  readonly controlPlane: (minor: number) => Document[];
  readonly workers: (minor: number) => Document[];
}

const patchesFor = (customs: readonly PatchExample[]) => (minor: number) =>
  customs
    .filter(({ since }) => since <= minor)
    .flatMap(({ documents, modern }) => [...(minor >= 14 && modern ? modern : documents)]);

export const anyPatches: fc.Arbitrary<PatchesByTarget> = fc
  .record({
    talos: subsetOf(allNodeExamples, 3),
    controlPlane: subsetOf(controlPlaneExamples, 2),
    workers: subsetOf(workerExamples, 2),
  })
  .map(({ talos, controlPlane, workers }) => ({
    talos: patchesFor(talos),
    controlPlane: patchesFor(controlPlane),
    workers: patchesFor(workers),
  }));

/** Patches that cluster owners may use, too. */
const ownerExampleNames = new Set([
  'sysctls',
  'kernel modules',
  'a kubelet setting',
  'a kubelet argument',
  'no KubePrism',
]);
const ownerControlPlaneExampleNames = new Set(['fewer privileges', 'manifests', 'an etcd argument']);
const selectByName = (customs: readonly PatchExample[], names: ReadonlySet<string>) =>
  customs.filter(({ what }) => names.has(what));

/** Patches of ClusterConfigs. */
export const clusterOwnerPatches: fc.Arbitrary<PatchesByTarget> = fc
  .record({
    talos: subsetOf(selectByName(allNodeExamples, ownerExampleNames), 3),
    controlPlane: subsetOf(selectByName(controlPlaneExamples, ownerControlPlaneExampleNames), 2),
    workers: subsetOf(selectByName(workerExamples, new Set(['huge pages', 'more labels'])), 2),
  })
  .map(({ talos, controlPlane, workers }) => ({
    talos: patchesFor(talos),
    controlPlane: patchesFor(controlPlane),
    workers: patchesFor(workers),
  }));

/** All examples. Conflicting patches are never used for the same kind of node. */
export const allPatches: PatchesByTarget = {
  talos: patchesFor(allNodeExamples),
  controlPlane: patchesFor(controlPlaneExamples),
  workers: patchesFor(workerExamples),
};
