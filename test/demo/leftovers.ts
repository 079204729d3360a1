import { Machine } from '../../src/api/machine.ts';
import { labels } from '../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp/types.ts';
import { Lease, Secret } from '../../src/kube/core-types.ts';
import type { ResourceType } from '../../src/kube/resource.ts';
import type { RunningWorld } from '../world/world.ts';
import type { ClusterSession } from './cluster-session.ts';

/** Resources that still exist after the deletion of everything; empty when there are none. */
export async function findLeftovers(
  session: ClusterSession,
  world: RunningWorld,
  before: ResourceSnapshot,
): Promise<string[]> {
  const found: string[] = [];
  const kinds: readonly ResourceType[] = [Cluster, AccessRequest, Machine];
  for (const type of kinds) {
    const { items } = await session.client.list(type);
    found.push(...items.map((object) => `${type.kind} ${object.metadata.name}`));
  }
  for (const lease of (await session.client.list(Lease, { labelSelector: labels.address })).items)
    found.push(`address ${lease.metadata.name}`);
  for (const selector of [labels.cluster, labels.access]) {
    for (const secret of (await session.client.list(Secret, { labelSelector: selector })).items)
      found.push(`Secret ${secret.metadata.name}`);
  }
  found.push(...newResources(before, snapshotResources(world)));
  for (const node of world.machines.nodes()) if (node.stage !== 'off') found.push(`Talos node ${node.name}`);
  return found;
}

/** The resources on the NAS and the state of the servers, by kind. */
export type ResourceSnapshot = ReadonlyMap<string, readonly string[]>;

/** The image cache is not counted: it is retained for the next cluster, and the demo prints that. */
export function snapshotResources(world: RunningWorld): ResourceSnapshot {
  const dump = world.truenas.dump();
  const caches = dump.datasets.map(idOf).filter((id) => id.endsWith('/images'));
  const isCache = (name: string): boolean => {
    const id = name.replace(/^\/mnt\//, '');
    return caches.some((cache) => id === cache || id.startsWith(`${cache}/`) || cache.startsWith(`${id}/`));
  };
  const names = (objects: readonly object[], key: string): string[] =>
    objects
      .map((thing) => String(Object.entries(thing).find(([name]) => name === key)?.[1]))
      .filter((name) => !isCache(name));
  return new Map([
    ['VM', names(dump.vms, 'name')],
    ['dataset', names(dump.datasets, 'id')],
    ['file', names(dump.files, 'path')],
    ['server called', world.robot.servers().map(({ number, name }) => `${number} ${name}`)],
    ['armed rescue of', world.robot.servers().flatMap(({ number, armed }) => (armed ? [String(number)] : []))],
  ]);
}

const fieldText = (thing: object, key: string): string =>
  String(Object.entries(thing).find(([name]) => name === key)?.[1]);
const idOf = (thing: object): string => fieldText(thing, 'id');

function newResources(before: ResourceSnapshot, after: ResourceSnapshot): string[] {
  return [...after].flatMap(([kind, names]) =>
    names.filter((name) => !before.get(kind)?.includes(name)).map((name) => `${kind} ${name}`),
  );
}
