import { allPatches } from './patches.ts';
import {
  assembleProviderConfig,
  offlineDhcpEnvironment,
  offlineEnvironment,
  type ProviderConfigParts,
  type RawProviderConfigSpec,
  supportedReleases,
} from './provider-config.ts';

type Release = (typeof supportedReleases)[number];

/**
 * For each Talos minor: a config that uses every field, one with a list of systems, one with the opposite or no values,
 * and one of IPv6 alone. Deterministic.
 */
export const extremeProviderConfigs = (): RawProviderConfigSpec[] =>
  supportedReleases.flatMap((release) => [
    ...[completeParts(release), { ...completeParts(release), systems }].map((parts) =>
      assembleProviderConfig(parts, offlineEnvironment),
    ),
    assembleProviderConfig(minimalParts(release), offlineDhcpEnvironment),
    { ...assembleProviderConfig(minimalParts(release), offlineEnvironment), network: ipv6Network },
  ]);

const ipv6Network = {
  addressPool: ['2001:db8:3::20-2001:db8:3::40'],
  prefix: 64,
  gateway: 'fe80::1',
  nameServers: ['2001:db8::53'],
  podSubnets: ['2001:db8:1::/56'],
  serviceSubnets: ['2001:db8:2::/112'],
};

const small = { name: 'small', cores: 2, memoryMiB: 4096, diskGiB: 40 };
const disks: ProviderConfigParts['sizes'][number]['disks'] = [
  { name: 'data', sizeGiB: 50, pool: 1, raw: false },
  { name: 'whole', sizeGiB: 100, pool: undefined, raw: true },
];
const cards: ProviderConfigParts['sizes'][number]['cards'] = [
  { bridge: 1, mtu: 1400, dhcp: false },
  { bridge: 0, mtu: undefined, dhcp: true },
];
const fullSizeOptions = {
  ...{ sockets: 2, threads: 2, cpuModel: 'EPYC-Rome' },
  ...{ display: true, tpm: true, encrypted: true },
};
const systems: ProviderConfigParts['systems'] = [
  { name: 'one', datasetPrefix: 'apps/one', system: { furtherPools: true, mtu: 1400 } },
  { name: 'two', datasetPrefix: undefined, system: { furtherPools: undefined, mtu: undefined } },
];
const noSizeOptions = {
  ...{ sockets: undefined, threads: undefined, cpuModel: undefined, disks: undefined, cards: undefined },
  ...{ display: false, tpm: false, encrypted: false },
};

const minimalParts = (release: Release): ProviderConfigParts => ({
  release,
  talosPatch: 0,
  talos: { extensions: undefined, kernelArguments: undefined, discovery: { enabled: false } },
  egress: { registries: undefined, proxy: undefined },
  manifests: { extraManifests: undefined, inlineManifests: undefined, externalCloudProvider: { enabled: true } },
  offer: [{ minor: 0, patch: 0, deprecated: undefined }],
  controlPlane: { replicas: undefined, endpoint: undefined, schedulable: false },
  pools: [{ name: 'work', replicas: 1, labels: undefined, taints: undefined, patched: false }],
  network: {
    podSubnets: undefined,
    serviceSubnets: undefined,
    ipv6: undefined,
    dnsDomain: undefined,
    prefix: 24,
    nameServers: ['198.51.100.53'],
    timeServers: undefined,
    kubeProxy: false,
    region: undefined,
    told: 'all',
    spare: 0,
    split: false,
  },
  sizes: [{ ...small, ...noSizeOptions }],
  take: 0,
  datasetPrefix: undefined,
  system: { furtherPools: undefined, mtu: undefined },
  systems: undefined,
  patches: undefined,
  backup: undefined,
});

function completeParts(release: Release): ProviderConfigParts {
  const pool: Omit<ProviderConfigParts['pools'][number], 'name' | 'patched'> = {
    replicas: 2,
    labels: { 'example.org/disk': 'fast', plain: '' },
    taints: [
      { key: 'example.org/gpu', value: 'yes', effect: 'NoSchedule' },
      { key: 'busy', value: undefined, effect: 'NoExecute' },
      { key: 'slow', value: '', effect: 'PreferNoSchedule' },
    ],
  };
  return {
    release,
    talosPatch: 1,
    talos: {
      extensions: ['siderolabs/qemu-guest-agent'],
      kernelArguments: ['console=ttyS0', '-talos.halt_if_installed'],
      discovery: { enabled: true, endpoint: 'https://discovery.example.org/' },
    },
    egress: {
      registries: {
        mirrors: [
          {
            ...{ registry: 'docker.io', endpoints: ['https://mirror.example.org/v2/hub'] },
            ...{ overridePath: true, skipFallback: true },
          },
        ],
      },
      proxy: { http: 'http://192.0.2.7:3128', https: 'http://192.0.2.7:3128', noProxy: ['.example.org'] },
    },
    manifests: {
      extraManifests: ['https://example.org/a.yaml'],
      inlineManifests: [{ name: 'base', contents: 'apiVersion: v1\nkind: Namespace\nmetadata: { name: base }\n' }],
      externalCloudProvider: undefined,
    },
    offer: [
      { minor: 5, patch: 1, deprecated: false },
      { minor: 0, patch: 3, deprecated: true },
    ],
    controlPlane: { replicas: 3, endpoint: 'k8s.example.org:443', schedulable: true },
    pools: [
      { name: 'plain', patched: false, ...pool },
      { name: 'patched', patched: true, ...pool },
    ],
    network: {
      podSubnets: ['10.200.0.0/16', '2001:db8:1::/56'],
      serviceSubnets: ['10.100.0.0/16', '2001:db8:2::/112'],
      ipv6: { subnet: '2001:db8:3::/64', gateway: '2001:db8:3::1' },
      dnsDomain: 'k8s.example.org',
      prefix: 22,
      nameServers: ['198.51.100.53', '2001:db8::53'],
      timeServers: ['ntp.example.org', '198.51.100.123'],
      kubeProxy: true,
      region: 'basement',
      told: 'no',
      spare: 5,
      split: true,
    },
    sizes: [{ ...small, ...fullSizeOptions, disks, cards }],
    take: 0,
    datasetPrefix: 'apps/talos',
    system: { furtherPools: true, mtu: 1400 },
    systems: undefined,
    backup: undefined,
    patches: allPatches,
  };
}
