import fc from 'fast-check';
import { anyPatches } from './patches.ts';
import { dnsLabel, farAddress, hostName, labelKey, labelValue, someOf } from './words.ts';

export type Section = Record<string, unknown>;

/** The spec of a ProviderConfig as people write it, right or wrong. */
export interface RawSpec {
  providerRef: Section;
  talos: Section;
  kubernetes: Section;
  controlPlane: Section;
  workerPools?: Section[];
  network: Section;
  truenas: Section;
  hetznerRobot?: Section;
}

/** Where the nodes would be. */
export interface Surroundings {
  /** The first three numbers of a /24. */
  readonly subnet: string;
  readonly factoryUrl: string;
  /** The platform section with one system, without its sizes. */
  readonly truenas: Section;
  /** Pools of the system beside the one that the section names. */
  readonly pools: readonly string[];
  /** Bridges of the system, which carry packets of 1500 bytes. */
  readonly bridges: readonly string[];
  /** Nodes may be told their addresses there. */
  readonly hasDhcp?: true;
}

/** Nowhere: for what asks nobody. */
export const nowhere: Surroundings = {
  subnet: '192.168.10',
  factoryUrl: 'https://factory.example.org',
  truenas: { url: 'wss://nas.example.org', credentialsRef: { name: 'nas' }, pool: 'tank', bridge: 'br0' },
  pools: ['fast'],
  bridges: ['br0', 'br1'],
};

/** The same, with a DHCP server. */
export const nowhereTold: Surroundings = { ...nowhere, hasDhcp: true };

/** The Kubernetes minors that each Talos minor runs, by the support matrix of Talos. */
export const supported = [
  { talos: '1.12', oldest: 30, newest: 35 },
  { talos: '1.13', oldest: 31, newest: 36 },
  { talos: '1.14', oldest: 32, newest: 37 },
] as const;

/** Leaves out what is undefined: a field that nobody wrote. */
const written = (section: Section): Section =>
  Object.fromEntries(Object.entries(section).filter(([, value]) => value !== undefined));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const anyTalos = fc.record({
  extensions: maybe(someOf(['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools', 'siderolabs/util-linux-tools'])),
  kernelArguments: maybe(someOf(['console=ttyS0', '-talos.halt_if_installed', 'net.ifnames=0', 'a="b c"'])),
  discovery: maybe(
    fc.constantFrom<Section>(
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

/** Minors counted from the oldest that the Talos version runs. */
const anyOffer = fc.uniqueArray(
  fc.record({
    minor: fc.integer({ min: 0, max: 5 }),
    patch: fc.integer({ min: 0, max: 12 }),
    deprecated: maybe(fc.boolean()),
  }),
  { minLength: 1, maxLength: 4, selector: ({ minor, patch }) => `${minor}.${patch}` },
);

const anyEndpoint = fc.oneof(
  hostName,
  hostName.map((host) => `${host}:443`),
  farAddress,
  farAddress.map((address) => `${address}:8443`),
  fc.constant('[2001:db8::20]:6443'),
);

const anyTaints = fc.uniqueArray(
  fc.record({
    key: labelKey,
    value: maybe(labelValue),
    effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
  }),
  { maxLength: 2, selector: ({ key, effect }) => `${key} ${effect}` },
);

const anyPools = fc.uniqueArray(
  fc.record({
    name: dnsLabel(16).filter((name) => name !== 'cp'),
    replicas: fc.integer({ min: 0, max: 4 }),
    labels: maybe(fc.dictionary(labelKey, labelValue, { maxKeys: 3, noNullPrototype: true })),
    taints: maybe(anyTaints),
    patched: fc.boolean(),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);

const anyNetwork = fc.record({
  podSubnets: maybe(
    fc.constantFrom<string[][]>(['10.200.0.0/16'], ['172.20.0.0/14', '2001:db8:1::/56'], ['10.244.0.0/18']),
  ),
  serviceSubnets: maybe(
    fc.constantFrom<string[][]>(['10.100.0.0/16'], ['172.30.0.0/16', '2001:db8:2::/112'], ['10.96.0.0/20']),
  ),
  dnsDomain: maybe(fc.constantFrom('cluster.local', 'k8s.example.org', 'a')),
  prefix: fc.constantFrom(16, 22, 24, 25),
  nameServers: fc.uniqueArray(fc.oneof(farAddress, fc.constant('2001:db8::53')), { minLength: 1, maxLength: 3 }),
  timeServers: maybe(fc.uniqueArray(fc.oneof(hostName, farAddress), { maxLength: 2 })),
  /** By DHCP, where there is one; with name servers of one's own or without. */
  told: fc.constantFrom('no', 'all', 'but-name-servers'),
  /** Addresses beyond those that one cluster needs. */
  spare: fc.integer({ min: 0, max: 20 }),
  /** Whether the first address stands alone, before a range with the rest. */
  split: fc.boolean(),
});

/** Which of what the surroundings have: a number that is counted on from the first again. */
const anyPlace = fc.nat(7);
const anyMtu = fc.integer({ min: 1280, max: 1500 });

const anyDisks = fc.uniqueArray(
  fc.record({
    name: dnsLabel(32),
    sizeGiB: fc.integer({ min: 1, max: 100 }),
    pool: maybe(anyPlace),
    raw: maybe(fc.boolean()),
  }),
  { maxLength: 4, selector: ({ name }) => name },
);

const anyCards = fc.array(fc.record({ bridge: anyPlace, mtu: maybe(anyMtu), dhcp: maybe(fc.boolean()) }), {
  maxLength: 3,
});

const anySizes = fc.uniqueArray(
  fc.record({
    name: dnsLabel(10),
    cores: fc.integer({ min: 1, max: 16 }),
    sockets: maybe(fc.integer({ min: 1, max: 4 })),
    threads: maybe(fc.integer({ min: 1, max: 2 })),
    cpuModel: maybe(fc.constantFrom<string[]>('host', 'EPYC-Rome', 'Skylake-Server')),
    memoryMiB: fc.integer({ min: 2048, max: 65536 }),
    diskGiB: fc.integer({ min: 20, max: 500 }),
    disks: maybe(anyDisks),
    cards: maybe(anyCards),
    display: maybe(fc.boolean()),
    tpm: maybe(fc.boolean()),
    encrypted: maybe(fc.boolean()),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);

const anyPrefix = maybe(fc.constantFrom<string[]>('talos', 'apps/talos', 'a.b_c'));

/** What a system says of itself beside where it is. */
const anySystem = fc.record({ furtherPools: maybe(fc.boolean()), mtu: maybe(anyMtu) });

/** A list in place of a single one. */
const anySystems = fc.uniqueArray(fc.record({ name: dnsLabel(12), datasetPrefix: anyPrefix, system: anySystem }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ name }) => name,
});

/** What a ProviderConfig is put together from. */
const anyParts = fc.record({
  release: fc.constantFrom(...supported),
  talosPatch: fc.integer({ min: 0, max: 20 }),
  talos: anyTalos,
  offer: anyOffer,
  controlPlane: fc.record({
    replicas: maybe(fc.constantFrom(1, 3, 5)),
    endpoint: maybe(anyEndpoint),
    schedulable: maybe(fc.boolean()),
  }),
  pools: anyPools,
  network: anyNetwork,
  sizes: anySizes,
  /** Which size each kind of node takes, in turn. */
  take: fc.nat(2),
  datasetPrefix: anyPrefix,
  system: anySystem,
  systems: maybe(anySystems),
  patches: maybe(anyPatches),
});
export type Parts = typeof anyParts extends fc.Arbitrary<infer T> ? T : never;

/** A ProviderConfig that has to be served there. */
export const anyProviderConfig = (at: Surroundings = nowhere): fc.Arbitrary<RawSpec> =>
  anyParts.map((parts) => assemble(parts, at));

export function assemble(parts: Parts, at: Surroundings): RawSpec {
  const { release, talos, controlPlane, pools, patches } = parts;
  const minor = Number(release.talos.split('.')[1]);
  const sizeOf = (i: number) => parts.sizes[(parts.take + i) % parts.sizes.length]?.name;
  const workerPools = pools.map(({ patched, ...pool }, i) =>
    written({
      ...pool,
      size: sizeOf(i + 1),
      taints: pool.taints?.map(written),
      patches: patched ? patches?.workers(minor) : undefined,
    }),
  );
  return {
    providerRef: { name: 'talos' },
    talos: written({
      version: `${release.talos}.${parts.talosPatch}`,
      factoryUrl: at.factoryUrl,
      ...talos,
      patches: patches?.talos(minor),
    }),
    kubernetes: { versions: offered(parts) },
    controlPlane: written({ ...controlPlane, size: sizeOf(0), patches: patches?.controlPlane(minor) }),
    ...(workerPools.length > 0 ? { workerPools } : {}),
    network: networkOf(parts, at),
    truenas: truenasOf(parts, at),
  };
}

function truenasOf({ system, systems, datasetPrefix, sizes }: Parts, at: Surroundings): Section {
  const one = ({ furtherPools, mtu }: Parts['system']): Section =>
    written({ ...at.truenas, furtherPools: furtherPools ? at.pools : undefined, mtu });
  const list = systems?.map(({ system: its, ...named }) => written({ ...named, ...one(its) }));
  return written({
    ...(list ? { systems: list } : one(system)),
    datasetPrefix,
    sizes: sizes.map((size) => sizeWritten(size, at)),
  });
}

function sizeWritten({ cores, disks, cards, ...size }: Parts['sizes'][number], at: Surroundings): Section {
  const pools = [String(at.truenas['pool']), ...at.pools];
  const pick = (all: readonly string[], place: number | undefined) =>
    place === undefined ? place : all[place % all.length];
  return written({
    ...size,
    cpus: cores * (size.sockets ?? 1) * (size.threads ?? 1),
    disks: disks?.map(({ pool, ...disk }) => written({ ...disk, pool: pick(pools, pool) })),
    cards: cards?.map(({ bridge, ...card }) => written({ ...card, bridge: pick(at.bridges, bridge) })),
  });
}

/** At least the first is not deprecated. */
const offered = ({ offer, release }: Parts): Section[] =>
  offer.map(({ minor, patch, deprecated }, i) =>
    written({ version: `1.${release.oldest + minor}.${patch}`, deprecated: i === 0 ? undefined : deprecated }),
  );

function networkOf({ network, controlPlane, pools, patches }: Parts, { subnet, hasDhcp }: Surroundings): Section {
  const { spare, split, told, ...rest } = network;
  const nodes = (controlPlane.replicas ?? 3) + pools.reduce((sum, { replicas }) => sum + replicas, 0);
  const last = 20 + nodes + spare;
  const addressPool = split ? [`${subnet}.20`, `${subnet}.21-${subnet}.${last}`] : [`${subnet}.20-${subnet}.${last}`];
  if (!hasDhcp || told === 'no') return written({ ...rest, addressPool, gateway: `${subnet}.1` });
  // A patch may take away what then has to be there.
  const nameServers = told === 'all' && !patches ? undefined : rest.nameServers;
  return written({ ...rest, addressPool, nameServers, addressAssignment: 'DHCP' });
}
