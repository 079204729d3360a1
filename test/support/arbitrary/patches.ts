import fc from 'fast-check';
import { someOf } from './words.ts';

type Document = Record<string, unknown>;

/** Something that platform teams do by patches. */
interface Custom {
  readonly what: string;
  /** The first Talos minor that can. */
  readonly since: number;
  readonly documents: readonly Document[];
  /** The same from Talos 1.14 on, where it is said otherwise. */
  readonly modern?: readonly Document[];
}

const gone = { $patch: 'delete' };
const document = (kind: string, content: Document): Document => ({ apiVersion: 'v1alpha1', kind, ...content });
const custom = (what: string, documents: readonly Document[], since = 12): Custom => ({ what, since, documents });
/** Of the API server, which has documents of its own since Talos 1.14. */
const customApi = (what: string, apiServer: Document, modern: Document): Custom => ({
  ...custom(what, [{ cluster: { apiServer } }]),
  modern: [modern],
});

/** On every node. */
const everywhere: readonly Custom[] = [
  custom('sysctls', [{ machine: { sysctls: { 'vm.max_map_count': '262144' } } }]),
  custom('kernel modules', [
    { machine: { kernel: { modules: [{ name: 'drbd', parameters: ['usermode_helper=disabled'] }] } } },
  ]),
  custom('a kubelet setting', [{ machine: { kubelet: { extraConfig: { maxPods: 200 } } } }]),
  custom('a kubelet argument', [{ machine: { kubelet: { extraArgs: { 'node-status-update-frequency': '5s' } } } }]),
  custom('a mount', [
    {
      machine: {
        kubelet: { extraMounts: [{ destination: '/var/x', type: 'bind', source: '/var/x', options: ['bind', 'rw'] }] },
      },
    },
  ]),
  custom('a second network card', [{ machine: { network: { interfaces: [{ interface: 'eth1', dhcp: true }] } } }]),
  custom('host entries', [
    { machine: { network: { extraHostEntries: [{ ip: '198.51.100.9', aliases: ['registry.example.org'] }] } } },
  ]),
  custom('a registry mirror', [
    document('RegistryMirrorConfig', {
      name: 'docker.io',
      endpoints: [{ url: 'https://mirror.example.org' }],
      skipFallback: true,
    }),
    document('RegistryTLSConfig', { name: 'mirror.example.org', insecureSkipVerify: true }),
  ]),
  custom('a volume', [document('VolumeConfig', { name: 'EPHEMERAL', provisioning: { maxSize: '50GiB' } })]),
  custom('a firewall', [
    document('NetworkDefaultActionConfig', { ingress: 'block' }),
    document('NetworkRuleConfig', {
      name: 'api',
      portSelector: { ports: [6443, '50000-50001'], protocol: 'tcp' },
      ingress: [{ subnet: '192.0.2.0/24' }],
    }),
  ]),
  custom('name servers in a document', [
    { machine: { network: { nameservers: gone } } },
    document('ResolverConfig', {
      nameservers: [{ address: '192.0.2.1' }],
      searchDomains: { domains: ['example.org'] },
    }),
  ]),
  custom('no KubePrism', [{ machine: { features: { kubePrism: { enabled: false } } } }]),
  custom('annotations', [{ machine: { nodeAnnotations: { 'example.org/rack': 'a 7' } } }]),
  custom('the kernel log', [document('KmsgLogConfig', { name: 'remote', url: 'tcp://198.51.100.7:514' })]),
  custom('a blackhole route', [document('BlackholeRouteConfig', { name: '203.0.113.0/24' })], 13),
];

/** On control planes. */
const onControlPlanes: readonly Custom[] = [
  custom('another CNI', [
    { cluster: { network: { cni: { name: 'none' } }, proxy: { disabled: true }, coreDNS: { disabled: true } } },
  ]),
  customApi(
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
  customApi(
    'a louder audit log',
    { auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] } },
    document('KubeAuditPolicyConfig', {
      configuration: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] },
    }),
  ),
  customApi(
    'fewer privileges',
    { admissionControl: [{ name: 'PodSecurity', configuration: { defaults: { enforce: 'restricted' } } }] },
    document('KubeAdmissionControlConfig', {
      name: 'PodSecurity',
      configuration: { defaults: { enforce: 'restricted' } },
    }),
  ),
  custom('manifests', [
    {
      cluster: {
        inlineManifests: [{ name: 'team', contents: 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n' }],
      },
    },
  ]),
  custom('access to Talos from Pods', [
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
  custom('an etcd argument', [{ cluster: { etcd: { extraArgs: { 'quota-backend-bytes': '4294967296' } } } }]),
  custom(
    'CoreDNS in a document',
    [
      { cluster: { coreDNS: { disabled: false } } },
      { cluster: { coreDNS: gone } },
      document('KubeCoreDNSConfig', { enabled: false }),
    ],
    14,
  ),
  custom(
    'kube-proxy in a document',
    [{ cluster: { proxy: gone } }, document('KubeProxyConfig', { enabled: false })],
    14,
  ),
];

/** On workers. */
const onWorkers: readonly Custom[] = [
  custom('user volumes', [
    document('UserVolumeConfig', {
      name: 'data',
      provisioning: { diskSelector: { match: '!system_disk' }, minSize: '10GiB' },
    }),
  ]),
  custom('huge pages', [{ machine: { sysctls: { 'vm.nr_hugepages': '1024' } } }]),
  custom('more labels', [{ machine: { nodeLabels: { 'example.org/disk': 'fast' } } }]),
];

/** The patches that were chosen, to be put in once the Talos version is known. */
export interface Patches {
  /** Of `talos.patches`, `controlPlane.patches` and `workerPools[].patches` for a Talos minor such as 13. */
  readonly talos: (minor: number) => Document[];
  readonly controlPlane: (minor: number) => Document[];
  readonly workers: (minor: number) => Document[];
}

const chosen = (customs: readonly Custom[]) => (minor: number) =>
  customs
    .filter(({ since }) => since <= minor)
    .flatMap(({ documents, modern }) => [...(minor >= 14 && modern ? modern : documents)]);

export const anyPatches: fc.Arbitrary<Patches> = fc
  .record({ talos: someOf(everywhere, 3), controlPlane: someOf(onControlPlanes, 2), workers: someOf(onWorkers, 2) })
  .map(({ talos, controlPlane, workers }) => ({
    talos: chosen(talos),
    controlPlane: chosen(controlPlane),
    workers: chosen(workers),
  }));

/** What cluster owners may say, too. */
const ofOwners = new Set(['sysctls', 'kernel modules', 'a kubelet setting', 'a kubelet argument', 'no KubePrism']);
const ofOwnersOnControlPlanes = new Set(['fewer privileges', 'manifests', 'an etcd argument']);
const named = (customs: readonly Custom[], names: ReadonlySet<string>) => customs.filter(({ what }) => names.has(what));

/** Patches of ClusterConfigs. */
export const ownerPatches: fc.Arbitrary<Patches> = fc
  .record({
    talos: someOf(named(everywhere, ofOwners), 3),
    controlPlane: someOf(named(onControlPlanes, ofOwnersOnControlPlanes), 2),
    workers: someOf(named(onWorkers, new Set(['huge pages', 'more labels'])), 2),
  })
  .map(({ talos, controlPlane, workers }) => ({
    talos: chosen(talos),
    controlPlane: chosen(controlPlane),
    workers: chosen(workers),
  }));

/** All of them. Those that cannot stand together are never on the same kind of node. */
export const allPatches: Patches = {
  talos: chosen(everywhere),
  controlPlane: chosen(onControlPlanes),
  workers: chosen(onWorkers),
};
