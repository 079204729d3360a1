import type { Machine } from '../../../src/api/machine.ts';
import { controlPlanePool, machineName } from '../../../src/api/names.ts';
import type { ProviderConfigSpec } from '../../../src/api/provider-config-spec.ts';
import { givenAddress } from '../../../src/controllers/given-address.ts';
import type { NodeSources } from '../../../src/controllers/machine/node-config.ts';
import type { NodeVolume } from '../../../src/engine/node-volume.ts';
import { deviceAt } from '../../../src/platforms/truenas/disks.ts';
import { describeHardware } from '../../../src/platforms/truenas/hardware.ts';
import { identityOf } from '../../../src/platforms/truenas/identity.ts';
import { TrueNasSection } from '../../../src/platforms/truenas/section.ts';
import { systemsOf } from '../../../src/platforms/truenas/systems.ts';

type Node = Pick<NodeSources, 'name' | 'machine' | 'endpoint' | 'hardware' | 'schematicId'>;

const clusterRef = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };

/** The first node of each kind that a ProviderConfig gives: a control plane, and a worker of each pool. */
export function nodesOf(spec: ProviderConfigSpec): Node[] {
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

function machineOf({ talos, kubernetes, controlPlane }: ProviderConfigSpec): Omit<Machine['spec'], 'role' | 'pool'> {
  return {
    providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
    providerConfigRef: { name: 'home' },
    clusterRef,
    platform: 'truenas',
    slot: 0,
    size: '',
    talosVersion: talos.version,
    kubernetesVersion: kubernetes.versions[0]?.version ?? '',
    ...(controlPlane.endpoint ? {} : { virtualAddress: own }),
  };
}

/** What the first system of the section would be asked for. */
function hardwareOf(spec: ProviderConfigSpec, { pool, size }: { readonly pool: string; readonly size: string }) {
  const [system] = systemsOf(TrueNasSection.parse((spec as { truenas?: unknown }).truenas));
  if (!system) throw new Error('the section names no system');
  const { config } = system;
  const { addressPool, prefix = 24 } = spec.network;
  const facts = { ...givenAddress(addressPool?.[0]?.split('-')[0] ?? '', spec.network, prefix) };
  const owner = { installation: 'installation-1', provider: 'talos', machine: machineName(clusterRef, pool, 0) };
  return describeHardware({ config, facts, node: { size } }, identityOf({ owner, config, facts }), []);
}

/** As on TrueNAS: each disk that is not raw becomes a volume. */
function volumesOf(spec: object, name: string): NodeVolume[] {
  const { truenas } = spec as { truenas: unknown };
  const { sizes } = TrueNasSection.parse(truenas);
  const { disks = [] } = sizes.find((size) => size.name === name) ?? {};
  return disks.flatMap((disk, i) => (disk.raw ? [] : [{ ...disk, device: deviceAt(i) }]));
}

const own = '192.168.10.250';

function endpointOf({ controlPlane: { endpoint = own } }: ProviderConfigSpec): string {
  return `https://${endpoint}${/:\d+$/.test(endpoint) ? '' : ':6443'}`;
}
