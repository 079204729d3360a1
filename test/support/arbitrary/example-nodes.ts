import type { Machine } from '../../../src/api/machine.ts';
import { controlPlanePool, machineName } from '../../../src/api/names.ts';
import type { ProviderConfigSpec } from '../../../src/api/provider-config-spec.ts';
import type { NodeConfigSources } from '../../../src/controllers/machine/node-config.ts';
import { toAssignedAddress } from '../../../src/controllers/shared/addresses/assigned-address.ts';
import type { NodeVolume } from '../../../src/engine/node-volume.ts';
import { toAuthority } from '../../../src/lib/net/ip.ts';
import { dataDiskDeviceAt } from '../../../src/platforms/truenas/config/disks.ts';
import { TrueNasSection } from '../../../src/platforms/truenas/config/section.ts';
import { systemsOf } from '../../../src/platforms/truenas/config/systems.ts';
import { vmIdentityOf } from '../../../src/platforms/truenas/resources/identity.ts';
import { toNodeHardware } from '../../../src/platforms/truenas/resources/vm/node-hardware.ts';

type ExampleNode = Pick<NodeConfigSources, 'name' | 'machine' | 'endpoint' | 'hardware' | 'schematicId'>;

const clusterRef = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };

/** The first node of each kind of a ProviderConfig: a control plane, and a worker of each pool. */
export function exampleNodesOf(spec: ProviderConfigSpec): ExampleNode[] {
  const pools = spec.workerPools.map((pool) => ({ role: 'worker' as const, pool: pool.name, size: pool.size }));
  const kinds = [{ role: 'controlplane' as const, pool: controlPlanePool, size: spec.controlPlane.size }, ...pools];
  return kinds.map((kind) => ({
    name: machineName(clusterRef, kind.pool, 0),
    machine: { ...machineOf(spec), ...kind },
    endpoint: endpointOf(spec),
    hardware: { ...hardwareOf(spec, kind), volumes: volumesOf(spec, kind.size) },
    schematicId: 'a'.repeat(64),
  }));
}

function machineOf({
  talos,
  kubernetes,
  controlPlane,
  network,
}: ProviderConfigSpec): Omit<Machine['spec'], 'role' | 'pool'> {
  return {
    providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
    providerConfigRef: { name: 'home' },
    clusterRef,
    platform: 'truenas',
    slot: 0,
    size: '',
    talosVersion: talos.version,
    kubernetesVersion: kubernetes.versions[0]?.version ?? '',
    ...(controlPlane.endpoint ? {} : { virtualAddress: virtualAddressOf(network) }),
  };
}

/** The hardware on the first system of the section. */
function hardwareOf(spec: ProviderConfigSpec, { pool, size }: { readonly pool: string; readonly size: string }) {
  const [system] = systemsOf(TrueNasSection.parse((spec as { truenas?: unknown }).truenas));
  if (!system) throw new Error('the section names no system');
  const { config } = system;
  const { addressPool, prefix = 24 } = spec.network;
  const facts = { ...toAssignedAddress(addressPool?.[0]?.split('-')[0] ?? '', spec.network, prefix) };
  const owner = { installation: 'installation-1', provider: 'talos', machine: machineName(clusterRef, pool, 0) };
  return toNodeHardware({ config, facts, node: { size } }, vmIdentityOf({ owner, config, facts }), []);
}

/** As on TrueNAS: each disk that is not raw becomes a volume. */
function volumesOf(spec: object, name: string): NodeVolume[] {
  const { truenas } = spec as { truenas: unknown };
  const { sizes } = TrueNasSection.parse(truenas);
  const { disks = [] } = sizes.find((size) => size.name === name) ?? {};
  return disks.flatMap((disk, i) => (disk.raw ? [] : [{ ...disk, device: dataDiskDeviceAt(i) }]));
}

const virtualAddressOf = ({ addressPool = [] }: ProviderConfigSpec['network']): string =>
  addressPool[0]?.includes(':') ? '2001:db8:3::250' : '192.168.10.250';

function endpointOf({ controlPlane: { endpoint }, network }: ProviderConfigSpec): string {
  if (endpoint === undefined) return `https://${toAuthority(virtualAddressOf(network), 6443)}`;
  return `https://${endpoint}${/:\d+$/.test(endpoint) ? '' : ':6443'}`;
}
