import { machineName } from '../../../src/api/names.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { addressHolder } from '../../../src/controllers/shared/addresses/address-leases.ts';
import type { Owner } from '../../../src/engine/node.ts';
import { hashNames } from '../../../src/lib/hash.ts';
import { vmIdentityOf } from '../../../src/platforms/truenas/resources/identity.ts';

/** The number of NAS that the clusters are spread over, each with its own ProviderConfig. */
export const systemCount = 10;
/** Control planes of each cluster. */
export const machinesPerCluster = 3;
export const fleetProviderName = 'talos';

/** The address of the NAS with this number. */
export const systemAddress = (system: number): string => `127.47.0.${10 + system}`;
export const systemPort = 8443;
export const configName = (system: number): string => `nas-${system}`;

/** The addresses of a NAS's clusters: 4,096 of 127.44.0.0/14, of which each cluster has four. */
const blockSize = 4096;
const firstAddress = 16;
const addressAt = (index: number): string => `127.${44 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

/** The network section of a ProviderConfig. */
export function networkSectionOf(system: number) {
  const at = (offset: number) => addressAt(system * blockSize + offset);
  return {
    addressPool: [`${at(firstAddress)}-${at(blockSize - 2)}`],
    prefix: 20,
    gateway: at(1),
    nameServers: [at(1)],
  };
}

/** The name, system and addresses of one cluster. */
export interface ClusterPlacement {
  readonly ref: NamespacedRef;
  readonly system: number;
  /** Its index among the clusters of its NAS. */
  readonly index: number;
  /** That of the API server first, then those of the machines. */
  readonly addresses: readonly string[];
}

/** The placement of the cluster with this number. */
export function placementOf(number: number): ClusterPlacement {
  const system = number % systemCount;
  const index = Math.floor(number / systemCount);
  const first = system * blockSize + firstAddress + index * (machinesPerCluster + 1);
  return {
    ref: { namespace: `team-${number % 50}`, name: `c-${String(number).padStart(4, '0')}` },
    system,
    index,
    addresses: Array.from({ length: machinesPerCluster + 1 }, (_, i) => addressAt(first + i)),
  };
}

/** How many of all clusters are on this NAS. */
export const clustersOnSystem = (system: number, clusters: number): number =>
  Math.ceil((clusters - system) / systemCount);

/** Every name that the provider derives from the name of a cluster, in a fixed order. */
export function derivedNames(ref: NamespacedRef, installation: string, config: string, host: string): string[] {
  const machines = Array.from({ length: machinesPerCluster }, (_, slot) => machineName(ref, 'cp', slot));
  return [
    ...[installation, config, host, ref.namespace, ref.name, hashNames(ref.namespace, ref.name)],
    hashNames(addressHolder.cluster({ ...ref, uid: '' }).text),
    ...machines.flatMap((machine) => {
      const owner: Owner = { installation, provider: fleetProviderName, machine };
      const place = { pool: 'tank', datasetPrefix: 'talos', url: `wss://${host}/api/current` };
      const { vmName, uuid, mac } = vmIdentityOf({ owner, config: place as never, facts: {} });
      return [machine, vmName, uuid, mac, hashNames(addressHolder.machine(machine).text)];
    }),
  ];
}

/** The number of a cluster's machine on its NAS, computed from that of the template. */
export const vmIdMapper =
  (pattern: readonly number[], index: number) =>
  (id: number): number =>
    index * pattern.length + pattern.indexOf(id) + 1;
