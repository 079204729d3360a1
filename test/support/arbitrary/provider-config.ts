import fc from 'fast-check';
import { anyPatches } from './patches.ts';
import { arbitraryHostName, dnsLabel, documentationAddress, labelKey, labelValue, subsetOf } from './strings.ts';

export type RawSection = Record<string, unknown>;

/** The spec of a ProviderConfig as users write it, valid or not. */
export interface RawProviderConfigSpec {
  providerRef: RawSection;
  talos: RawSection;
  kubernetes: RawSection;
  controlPlane: RawSection;
  workerPools?: RawSection[];
  network: RawSection;
  backup?: RawSection;
  truenas: RawSection;
  hetznerRobot?: RawSection;
}

/** The environment of the nodes. */
export interface ConfigEnvironment {
  /** The first three numbers of a /24. */
  readonly subnet: string;
  readonly factoryUrl: string;
  /** The platform section with one system, without its sizes. */
  readonly truenas: RawSection;
  /** Pools of the system besides the one that the section names. */
  readonly pools: readonly string[];
  /** Bridges of the system, with an MTU of 1500 bytes. */
  readonly bridges: readonly string[];
  /** A DHCP server may assign the addresses of nodes. */
  readonly hasDhcp?: true;
}

/** An environment that does not exist: for tests without connections. */
export const offlineEnvironment: ConfigEnvironment = {
  subnet: '192.168.10',
  factoryUrl: 'https://factory.example.org',
  truenas: { url: 'wss://nas.example.org', credentialsRef: { name: 'nas' }, pool: 'tank', bridge: 'br0' },
  pools: ['fast'],
  bridges: ['br0', 'br1'],
};

/** The same, with a DHCP server. */
export const offlineDhcpEnvironment: ConfigEnvironment = { ...offlineEnvironment, hasDhcp: true };

/** The Kubernetes minors that each Talos minor supports, from the support matrix of Talos. */
export const supportedReleases = [
  { talos: '1.12', oldest: 30, newest: 35 },
  { talos: '1.13', oldest: 31, newest: 36 },
  { talos: '1.14', oldest: 32, newest: 37 },
] as const;

/** Removes undefined values: fields that were not written. */
const withoutUndefined = (section: RawSection): RawSection =>
  Object.fromEntries(Object.entries(section).filter(([, value]) => value !== undefined));
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const anyTalos = fc.record({
  extensions: optional(
    subsetOf(['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools', 'siderolabs/util-linux-tools']),
  ),
  kernelArguments: optional(subsetOf(['console=ttyS0', '-talos.halt_if_installed', 'net.ifnames=0', 'a="b c"'])),
  discovery: optional(
    fc.constantFrom<RawSection>(
      { enabled: false },
      { enabled: true },
      { endpoint: 'https://discovery.example.org/' },
      {
        enabled: false,
        endpoint: 'https://discovery.example.org:8443',
      },
    ),
  ),
});

/** How nodes reach what is outside of their cluster. */
const anyEgress = fc.record({
  registries: optional(
    fc.constantFrom<RawSection>(
      {
        mirrors: [{ registry: 'docker.io', endpoints: ['https://mirror.example.org:5000/v2/hub'], overridePath: true }],
      },
      { mirrors: [{ registry: '*', endpoints: ['https://a.example.org', 'http://192.0.2.7'], skipFallback: true }] },
    ),
  ),
  proxy: optional(
    fc.constantFrom<RawSection>(
      { http: 'http://proxy.example.org:3128' },
      { https: 'http://192.0.2.7:3128', noProxy: ['.example.org', '198.51.100.0/24'] },
    ),
  ),
});

/** What a cluster begins with. */
const anyManifests = fc.record({
  extraManifests: optional(
    fc.constantFrom<string[][]>([], ['https://example.org/a.yaml', 'https://example.org/b.yaml']),
  ),
  inlineManifests: optional(
    fc.constant([{ name: 'base', contents: 'apiVersion: v1\nkind: Namespace\nmetadata: { name: base }\n' }]),
  ),
  externalCloudProvider: optional(fc.record({ enabled: fc.boolean() })),
});

/** Minors counted from the oldest that the Talos version supports. */
const anyOffer = fc.uniqueArray(
  fc.record({
    minor: fc.integer({ min: 0, max: 5 }),
    patch: fc.integer({ min: 0, max: 12 }),
    deprecated: optional(fc.boolean()),
  }),
  { minLength: 1, maxLength: 4, selector: ({ minor, patch }) => `${minor}.${patch}` },
);

const anyEndpoint = fc.oneof(
  arbitraryHostName,
  arbitraryHostName.map((host) => `${host}:443`),
  documentationAddress,
  documentationAddress.map((address) => `${address}:8443`),
  fc.constant('[2001:db8::20]:6443'),
);

const anyTaints = fc.uniqueArray(
  fc.record({
    key: labelKey,
    value: optional(labelValue),
    effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
  }),
  { maxLength: 2, selector: ({ key, effect }) => `${key} ${effect}` },
);

const anyPools = fc.uniqueArray(
  fc.record({
    name: dnsLabel(16).filter((name) => name !== 'cp'),
    replicas: fc.integer({ min: 0, max: 4 }),
    labels: optional(fc.dictionary(labelKey, labelValue, { maxKeys: 3, noNullPrototype: true })),
    taints: optional(anyTaints),
    patched: fc.boolean(),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);

const anyNetwork = fc.record({
  podSubnets: optional(
    fc.constantFrom<string[][]>(['10.200.0.0/16'], ['172.20.0.0/14', '2001:db8:1::/56'], ['10.244.0.0/18']),
  ),
  serviceSubnets: optional(
    fc.constantFrom<string[][]>(['10.100.0.0/16'], ['172.30.0.0/16', '2001:db8:2::/112'], ['10.96.0.0/20']),
  ),
  ipv6: optional(
    fc.constantFrom<RawSection>(
      { subnet: 'fd00:10::/64' },
      { subnet: '2001:db8:3::/64', gateway: 'fe80::1' },
      { subnet: '2001:db8:3::/96', gateway: '2001:db8:3::1' },
    ),
  ),
  dnsDomain: optional(fc.constantFrom('cluster.local', 'k8s.example.org', 'a')),
  prefix: fc.constantFrom(16, 22, 24, 25),
  nameServers: fc.uniqueArray(fc.oneof(documentationAddress, fc.constant('2001:db8::53')), {
    minLength: 1,
    maxLength: 3,
  }),
  timeServers: optional(fc.uniqueArray(fc.oneof(arbitraryHostName, documentationAddress), { maxLength: 2 })),
  // The simulated nodes would wait for a CNI that is not Flannel.
  kubeProxy: optional(fc.boolean()),
  region: optional(fc.constantFrom('basement', 'eu-central_1.A')),
  /** By DHCP, where available; with or without explicit name servers. */
  told: fc.constantFrom('no', 'all', 'but-name-servers'),
  /** Addresses beyond those that one cluster needs. */
  spare: fc.integer({ min: 0, max: 20 }),
  /** Whether the first address is separate from the range with the rest. */
  split: fc.boolean(),
});

/** Selects an item of the environment, modulo the number of items. */
const anyIndex = fc.nat(7);
const anyMtu = fc.integer({ min: 1280, max: 1500 });

const anyDisks = fc.uniqueArray(
  fc.record({
    name: dnsLabel(32),
    sizeGiB: fc.integer({ min: 1, max: 100 }),
    pool: optional(anyIndex),
    raw: optional(fc.boolean()),
  }),
  { maxLength: 4, selector: ({ name }) => name },
);

const anyCards = fc.array(fc.record({ bridge: anyIndex, mtu: optional(anyMtu), dhcp: optional(fc.boolean()) }), {
  maxLength: 3,
});

const anySizes = fc.uniqueArray(
  fc.record({
    name: dnsLabel(10),
    cores: fc.integer({ min: 1, max: 16 }),
    sockets: optional(fc.integer({ min: 1, max: 4 })),
    threads: optional(fc.integer({ min: 1, max: 2 })),
    cpuModel: optional(fc.constantFrom<string[]>('host', 'EPYC-Rome', 'Skylake-Server')),
    memoryMiB: fc.integer({ min: 2048, max: 65536 }),
    diskGiB: fc.integer({ min: 20, max: 500 }),
    disks: optional(anyDisks),
    cards: optional(anyCards),
    display: optional(fc.boolean()),
    tpm: optional(fc.boolean()),
    encrypted: optional(fc.boolean()),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);

const anyPrefix = optional(fc.constantFrom<string[]>('talos', 'apps/talos', 'a.b_c'));

/** Options of a system besides its address. */
const anySystem = fc.record({ furtherPools: optional(fc.boolean()), mtu: optional(anyMtu) });

/** A list instead of a single system. */
const anySystems = fc.uniqueArray(fc.record({ name: dnsLabel(12), datasetPrefix: anyPrefix, system: anySystem }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ name }) => name,
});

/** It is not due while the tests run: its bucket does not exist. */
const anyBackup = fc.record({
  schedule: fc.constantFrom('0 0 1 1 *', '30 2 29 2 *', '15 4 31 JAN,MAR *'),
  timeZone: optional(fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata')),
  keep: optional(fc.integer({ min: 1, max: 1000 })),
  recipients: fc.constant(['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p']),
  s3: fc.record({
    endpoint: fc.constantFrom('https://s3.example.org', 'https://192.0.2.7:9000/', 'https://example.org/s3'),
    bucket: fc.constant('backups'),
    prefix: optional(fc.constantFrom('', 'talos', 'talos/prod/')),
    region: optional(fc.constantFrom('auto', 'eu-central-1')),
    credentialsRef: fc.constant({ name: 's3' }),
  }),
});

/** The parts of a ProviderConfig. */
const anyParts = fc.record({
  release: fc.constantFrom(...supportedReleases),
  talosPatch: fc.integer({ min: 0, max: 20 }),
  talos: anyTalos,
  egress: anyEgress,
  manifests: anyManifests,
  offer: anyOffer,
  controlPlane: fc.record({
    replicas: optional(fc.constantFrom(1, 3, 5)),
    endpoint: optional(anyEndpoint),
    schedulable: optional(fc.boolean()),
  }),
  pools: anyPools,
  network: anyNetwork,
  sizes: anySizes,
  /** Which size each kind of node takes, in turn. */
  take: fc.nat(2),
  datasetPrefix: anyPrefix,
  system: anySystem,
  systems: optional(anySystems),
  patches: optional(anyPatches),
  backup: optional(anyBackup),
});
export type ProviderConfigParts = typeof anyParts extends fc.Arbitrary<infer T> ? T : never;

/** A ProviderConfig that must be accepted in that environment. */
export const anyProviderConfig = (at: ConfigEnvironment = offlineEnvironment): fc.Arbitrary<RawProviderConfigSpec> =>
  anyParts.map((parts) => assembleProviderConfig(parts, at));

export function assembleProviderConfig(parts: ProviderConfigParts, at: ConfigEnvironment): RawProviderConfigSpec {
  const { release, talos, egress, manifests, controlPlane, pools, patches } = parts;
  const minor = Number(release.talos.split('.')[1]);
  const sizeOf = (i: number) => parts.sizes[(parts.take + i) % parts.sizes.length]?.name;
  const workerPools = pools.map(({ patched, ...pool }, i) =>
    withoutUndefined({
      ...pool,
      size: sizeOf(i + 1),
      taints: pool.taints?.map(withoutUndefined),
      patches: patched ? patches?.workers(minor) : undefined,
    }),
  );
  return {
    providerRef: { name: 'talos' },
    talos: withoutUndefined({
      version: `${release.talos}.${parts.talosPatch}`,
      factoryUrl: at.factoryUrl,
      ...{ ...talos, ...egress },
      patches: patches?.talos(minor),
    }),
    kubernetes: withoutUndefined({ versions: offeredVersions(parts), ...manifests }),
    controlPlane: withoutUndefined({ ...controlPlane, size: sizeOf(0), patches: patches?.controlPlane(minor) }),
    ...(workerPools.length > 0 ? { workerPools } : {}),
    network: networkSection(parts, at),
    ...(parts.backup ? { backup: withoutUndefined({ ...parts.backup, s3: withoutUndefined(parts.backup.s3) }) } : {}),
    truenas: truenasSection(parts, at),
  };
}

function truenasSection(
  { system, systems, datasetPrefix, sizes }: ProviderConfigParts,
  at: ConfigEnvironment,
): RawSection {
  const one = ({ furtherPools, mtu }: ProviderConfigParts['system']): RawSection =>
    withoutUndefined({ ...at.truenas, furtherPools: furtherPools ? at.pools : undefined, mtu });
  const list = systems?.map(({ system: its, ...named }) => withoutUndefined({ ...named, ...one(its) }));
  return withoutUndefined({
    ...(list ? { systems: list } : one(system)),
    datasetPrefix,
    sizes: sizes.map((size) => sizeSection(size, at)),
  });
}

function sizeSection(
  { cores, disks, cards, ...size }: ProviderConfigParts['sizes'][number],
  at: ConfigEnvironment,
): RawSection {
  const pools = [String(at.truenas['pool']), ...at.pools];
  const pick = (all: readonly string[], place: number | undefined) =>
    place === undefined ? place : all[place % all.length];
  return withoutUndefined({
    ...size,
    cpus: cores * (size.sockets ?? 1) * (size.threads ?? 1),
    disks: disks?.map(({ pool, ...disk }) => withoutUndefined({ ...disk, pool: pick(pools, pool) })),
    cards: cards?.map(({ bridge, ...card }) => withoutUndefined({ ...card, bridge: pick(at.bridges, bridge) })),
  });
}

/** At least the first is not deprecated. */
const offeredVersions = ({ offer, release }: ProviderConfigParts): RawSection[] =>
  offer.map(({ minor, patch, deprecated }, i) =>
    withoutUndefined({ version: `1.${release.oldest + minor}.${patch}`, deprecated: i === 0 ? undefined : deprecated }),
  );

function networkSection(
  { network, controlPlane, pools, patches, manifests }: ProviderConfigParts,
  { subnet, hasDhcp }: ConfigEnvironment,
): RawSection {
  const { spare: unassigned, split, told, region: anyRegion, ...withoutRegion } = network;
  const given = { ...withoutRegion, region: manifests.externalCloudProvider?.enabled ? undefined : anyRegion };
  const isDualStack = [given.podSubnets, given.serviceSubnets].flat().some((range) => range?.includes(':'));
  const rest = { ...given, ipv6: given.ipv6 ?? (isDualStack ? { subnet: 'fd00:10::/64' } : undefined) };
  const nodes = (controlPlane.replicas ?? 3) + pools.reduce((sum, { replicas }) => sum + replicas, 0);
  const last = 20 + nodes + unassigned;
  const addressPool = split ? [`${subnet}.20`, `${subnet}.21-${subnet}.${last}`] : [`${subnet}.20-${subnet}.${last}`];
  if (!hasDhcp || told === 'no') return withoutUndefined({ ...rest, addressPool, gateway: `${subnet}.1` });
  // A patch may remove values that are required then.
  const nameServers = told === 'all' && !patches ? undefined : rest.nameServers;
  return withoutUndefined({ ...rest, addressPool, nameServers, addressAssignment: 'DHCP' });
}
