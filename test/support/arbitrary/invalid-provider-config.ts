import fc from 'fast-check';
import type { RawProviderConfigSpec, RawSection } from './provider-config.ts';
import type { InvalidValue } from './schema-violations.ts';

/** A mistake that the schema accepts. */
interface Mistake {
  readonly what: string;
  /** The beginning of its error message. */
  readonly field: string;
  /** Makes the mistake. `pick` chooses among several variants. */
  spoil(spec: RawProviderConfigSpec, pick: number): void;
}

const pickOne = <T>(pick: number, ...all: T[]): T => all[pick % all.length] as T;
const minorOf = (spec: RawProviderConfigSpec): number => Number(String(spec.talos['version']).split('.')[1]);
const subnetOf = (spec: RawProviderConfigSpec): string => String(spec.network['gateway']).replace(/\.\d+$/, '');
const set = (section: RawSection, key: string, value: unknown): void => {
  section[key] = value;
};
const mistake = (what: string, field: string, spoil: Mistake['spoil']): Mistake => ({ what, field, spoil });

/** Replaces all worker pools by one pool with `values`. */
const pool = (spec: RawProviderConfigSpec, values: RawSection): void => {
  spec.workerPools = [{ name: 'work', replicas: 0, size: spec.controlPlane['size'], ...values }];
};
/** Replaces all patches. */
const patch = (spec: RawProviderConfigSpec, where: 'talos' | 'controlPlane', ...patches: unknown[]): void => {
  for (const { patches: _, ...rest } of spec.workerPools ?? []) pool(spec, rest);
  delete spec.talos['patches'];
  delete spec.controlPlane['patches'];
  set(spec[where], 'patches', patches);
};

const versions: readonly Mistake[] = [
  mistake('a Talos that is not supported', 'talos.version', (spec, pick) =>
    set(spec.talos, 'version', pickOne(pick, '1.11.9', '1.15.0', '2.0.0', '0.14.3')),
  ),
  mistake('a Talos version that is none', 'talos.version', (spec, pick) =>
    set(spec.talos, 'version', pickOne(pick, '01.13.9', '1.13.09')),
  ),
  mistake('a Kubernetes that is too new for this Talos', 'kubernetes.versions[0].version', (spec, pick) =>
    set(spec.kubernetes, 'versions', [{ version: `1.${minorOf(spec) + 24 + (pick % 9)}.0` }]),
  ),
  mistake('a Kubernetes that is too old for this Talos', 'kubernetes.versions[0].version', (spec, pick) =>
    set(spec.kubernetes, 'versions', [{ version: `1.${minorOf(spec) + 17 - (pick % 9)}.9` }]),
  ),
  mistake('a Kubernetes version that is none', 'kubernetes.versions[0].version', (spec, pick) =>
    set(spec.kubernetes, 'versions', [{ version: pickOne(pick, '1.035.4', '01.35.4') }]),
  ),
  mistake('an offer of deprecated versions', 'kubernetes.versions', (spec) => {
    for (const offer of spec.kubernetes['versions'] as RawSection[]) offer['deprecated'] = true;
  }),
  mistake('a size that nobody defined', 'controlPlane.size', (spec) => set(spec.controlPlane, 'size', 'unheard-of')),
];

const backup = (spec: RawProviderConfigSpec, values: RawSection): void => {
  const s3 = { endpoint: 'https://s3.example.org', bucket: 'backups', credentialsRef: { name: 's3' } };
  const recipients = ['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'];
  spec.backup = { schedule: '0 0 1 1 *', recipients, s3, ...values };
};

const backups: readonly Mistake[] = [
  mistake('a schedule that never occurs', 'backup.schedule', (spec, pick) =>
    backup(spec, { schedule: pickOne(pick, '0 0 30 2 *', '61 * * * *', '0 0 * * 9', '5-1 * * * *') }),
  ),
  mistake('a time zone that does not exist', 'backup.timeZone', (spec) => backup(spec, { timeZone: 'Mars/Base' })),
  mistake('a public key with a wrong checksum', 'backup.recipients[0]', (spec) =>
    backup(spec, { recipients: [`age1${'q'.repeat(58)}`] }),
  ),
];

const addresses: readonly Mistake[] = [
  mistake('a gateway that is no address', 'network.gateway', (spec, pick) =>
    set(spec.network, 'gateway', pickOne(pick, '999.1.1.1', '10.0.0', 'fd00::1', '....', 'dad')),
  ),
  mistake('a pool outside of the subnet', 'network.addressPool[0]', (spec, pick) =>
    set(spec.network, 'addressPool', [pickOne(pick, '10.99.0.5', '10.99.0.5-10.99.0.99', '0.0.0.0-255.255.255.255')]),
  ),
  mistake('a pool that is no range', 'network.addressPool[1]', (spec, pick) => {
    const subnet = subnetOf(spec);
    const wrong = pickOne(pick, `${subnet}.90-${subnet}.80`, `${subnet}.80-${subnet}.999`, `${subnet}`, '1-2');
    set(spec.network, 'addressPool', [`${subnet}.20-${subnet}.60`, wrong]);
  }),
  mistake('a pool that is too small', 'network.addressPool', (spec) => {
    set(spec.controlPlane, 'replicas', 3);
    set(spec.network, 'addressPool', Array<string>(5).fill(`${subnetOf(spec)}.100`));
  }),
  mistake('a pool with somebody else in it', 'network.addressPool[0]', (spec, pick) => {
    const somebody = `${subnetOf(spec)}.20`;
    pickOne(
      pick,
      () => set(spec.network, 'nameServers', [somebody]),
      () => set(spec.network, 'timeServers', ['ntp.example.org', somebody]),
      () => set(spec.controlPlane, 'endpoint', `${somebody}:443`),
      () => set(spec.talos, 'factoryUrl', `http://${somebody}:8080/images`),
      () => set(spec.talos, 'discovery', { endpoint: `https://${somebody}` }),
      () => set(spec.network, 'gateway', somebody),
    )();
  }),
  mistake('a name server that is none', 'network.nameServers[1]', (spec, pick) =>
    set(spec.network, 'nameServers', ['198.51.100.53', pickOne(pick, '1.1.1', '1.1.1.1:53', 'dead.beef', '::::')]),
  ),
  mistake('a time server that is none', 'network.timeServers[0]', (spec, pick) =>
    set(spec.network, 'timeServers', [pickOne(pick, 'at noon', '300.1.1.1', 'https://ntp', '\u{1F570}', '-')]),
  ),
  mistake('a domain that is none', 'network.dnsDomain', (spec, pick) =>
    set(spec.network, 'dnsDomain', pickOne(pick, '.', 'a..b', `${'x'.repeat(64)}.org`, '-a')),
  ),
  mistake('an endpoint that is none', 'controlPlane.endpoint', (spec, pick) =>
    set(
      spec.controlPlane,
      'endpoint',
      pickOne(pick, ':', '[', 'a:b', 'fd00::1', 'k8s:99999', '1.2.3.400', 'a..b:6443'),
    ),
  ),
];

const urls: readonly Mistake[] = [
  mistake('a factory that is no URL', 'talos.factoryUrl', (spec, pick) =>
    set(
      spec.talos,
      'factoryUrl',
      pickOne(pick, 'https://?', 'http://[', 'https://u:p@f.org', 'https://f/?a', 'https://f/Up'),
    ),
  ),
  mistake('a discovery service that is no URL', 'talos.discovery.endpoint', (spec, pick) =>
    set(spec.talos, 'discovery', {
      endpoint: pickOne(pick, 'https://?', 'http://d/path', 'https://:1', 'https://d/#x'),
    }),
  ),
];

const ranges: readonly Mistake[] = [
  mistake('a range that is none', 'network.podSubnets[0]', (spec, pick) =>
    set(spec.network, 'podSubnets', [pickOne(pick, '10.0.0.0/33', '10.0.0/8', '::/0', '10.200.1.0/16', 'a:::b/64')]),
  ),
  mistake('ranges of the same kind', 'network.serviceSubnets[1]', (spec) =>
    set(spec.network, 'serviceSubnets', ['10.100.0.0/16', '10.101.0.0/16']),
  ),
  mistake('ranges that overlap', 'network.serviceSubnets[0]', (spec, pick) => {
    set(spec.network, 'podSubnets', ['10.0.0.0/9']);
    set(spec.network, 'serviceSubnets', [pickOne(pick, '10.64.0.0/12', '10.0.0.0/16', '10.127.255.0/24')]);
  }),
  mistake('Pods where nodes are', 'network.podSubnets[0]', (spec) =>
    set(spec.network, 'podSubnets', [`${subnetOf(spec)}.0/24`]),
  ),
  mistake('Pods where a name server is', 'network.podSubnets[0]', (spec) => {
    set(spec.network, 'podSubnets', ['203.0.113.0/24', ...(['2001:db8:9::/56'] as string[])]);
    set(spec.network, 'nameServers', ['203.0.113.9']);
    patch(spec, 'talos', {});
  }),
  mistake('too few Services', 'network.serviceSubnets[0]', (spec, pick) =>
    set(spec.network, 'serviceSubnets', [pickOne(pick, '10.100.0.0/29', '10.100.0.0/32')]),
  ),
  mistake('too few Pods', 'network.podSubnets[0]', (spec) => {
    patch(spec, 'talos');
    set(spec.controlPlane, 'replicas', 3);
    set(spec.network, 'podSubnets', ['10.200.0.0/24']);
  }),
];

const workers: readonly Mistake[] = [
  mistake('a label that is none', 'workerPools[0].labels', (spec, pick) =>
    pool(spec, {
      labels: pickOne<RawSection>(pick, { 'a b': 'c' }, { a: '-' }, { '/': '' }, { 'a/b/c': '' }, { é: '' }),
    }),
  ),
  mistake('a label that is not for workers', 'workerPools[0].labels', (spec, pick) =>
    pool(spec, { labels: { [pickOne(pick, 'node-role.kubernetes.io/gpu', 'k8s.io/x')]: '' } }),
  ),
  mistake('a taint that is none', 'workerPools[0].taints[0].key', (spec, pick) =>
    pool(spec, { taints: [{ key: pickOne(pick, '=', 'a b', 'a/b/c', '.'), effect: 'NoExecute' }] }),
  ),
  mistake('a taint twice', 'workerPools[0].taints[1]', (spec) =>
    pool(spec, { taints: ['a', 'b'].map((value) => ({ key: 'k', value, effect: 'NoExecute' })) }),
  ),
];

const document = (kind: string, content: RawSection): RawSection => ({ apiVersion: 'v1alpha1', kind, ...content });
const deletePatch = { $patch: 'delete' };

const patches: readonly Mistake[] = [
  mistake('a patch with a kind that Talos does not know', 'talos.patches[0]', (spec, pick) =>
    patch(
      spec,
      'talos',
      pickOne(pick, document('Machine', {}), document('constructor', {}), { kind: 5 }, { kind: null }),
    ),
  ),
  mistake('a patch with a key that does not exist', 'controlPlane.patches[1]', (spec, pick) =>
    patch(
      spec,
      'controlPlane',
      {},
      pickOne<RawSection>(pick, { machin: {} }, { machine: { kubelet: { imag: 'x' } } }, { '': 1 }),
    ),
  ),
  mistake('a patch of another type', 'talos.patches[0]', (spec, pick) =>
    patch(
      spec,
      'talos',
      pickOne<RawSection>(
        pick,
        { machine: 'text' },
        { machine: { sysctls: ['a=b'] } },
        { machine: { network: { interfaces: { eth0: {} } } } },
        { machine: { features: { kubePrism: { enabled: 'yes' } } } },
        document('RegistryMirrorConfig', { name: 'x', endpoints: ['https://mirror'] }),
      ),
    ),
  ),
  mistake('a patch that is made for another tool', 'talos.patches[0]', (spec, pick) =>
    patch(
      spec,
      'talos',
      pickOne<RawSection>(
        pick,
        { op: 'add', path: '/machine', value: 1 },
        { machine: { $patch: 'replace' } },
        { $patch: 'delete' },
      ),
    ),
  ),
  mistake('a patch that takes what is needed', 'controlPlane.patches[0]', (spec, pick) =>
    patch(
      spec,
      'controlPlane',
      pickOne<RawSection>(
        pick,
        { machine: deletePatch },
        { cluster: deletePatch },
        { machine: { network: deletePatch } },
        { machine: { install: deletePatch } },
        { cluster: { etcd: deletePatch } },
        document('HostnameConfig', { hostname: 'same' }),
        document('NetworkDefaultActionConfig', { ingress: 'block' }),
      ),
    ),
  ),
  mistake('a patch that brings secrets', 'talos.patches[0]', (spec, pick) =>
    patch(
      spec,
      'talos',
      pickOne<RawSection>(
        pick,
        { machine: { token: 'abcdef.0123456789abcdef' } },
        { machine: { ca: { crt: 'c2VjcmV0', key: 'c2VjcmV0' } } },
        { cluster: { secret: 'c2VjcmV0' } },
        { cluster: { ca: { crt: 'c2VjcmV0' } } },
      ),
    ),
  ),
  mistake('a patch that says what a field says', 'talos.patches[0]', (spec, pick) =>
    patch(
      spec,
      'talos',
      pickOne<RawSection>(
        pick,
        { cluster: { controlPlane: { endpoint: 'https://other.example.org:6443' } } },
        { cluster: { network: { podSubnets: ['10.7.0.0/16'] } } },
        { machine: { kubelet: { image: 'ghcr.io/siderolabs/kubelet:v1.2.3' } } },
        { machine: { type: 'worker' } },
      ),
    ),
  ),
];

const mistakes = [...versions, ...addresses, ...backups, ...urls, ...ranges, ...workers, ...patches];

/** A ProviderConfig that the API server accepts and the provider must reject. */
export const invalidProviderConfig = (
  good: fc.Arbitrary<RawProviderConfigSpec>,
): fc.Arbitrary<InvalidValue<RawProviderConfigSpec>> =>
  fc.tuple(good, fc.nat(), fc.constantFrom(...mistakes)).map(([spec, pick, { what, field, spoil }]) => {
    const value = structuredClone(spec);
    spoil(value, pick);
    return { what, field, value };
  });
