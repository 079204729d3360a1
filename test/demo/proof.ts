import { Machine } from '../../src/api/machine.ts';
import { labels } from '../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp.ts';
import { Lease, Secret } from '../../src/kube/core-types.ts';
import type { RunningWorld } from '../world/world.ts';
import type { Session } from './session.ts';

/** What is still there after everything was deleted; empty when nothing is. */
export async function leftovers(session: Session, world: RunningWorld, before: NasCount): Promise<string[]> {
  const found: string[] = [];
  for (const type of [Cluster, AccessRequest, Machine]) {
    for (const object of (await session.client.list<typeof type.object & object>(type as never)).items)
      found.push(`${type.kind} ${object.metadata.name}`);
  }
  for (const lease of (await session.client.list(Lease, { labelSelector: labels.address })).items)
    found.push(`address ${lease.metadata.name}`);
  for (const selector of [labels.cluster, labels.access]) {
    for (const secret of (await session.client.list(Secret, { labelSelector: selector })).items)
      found.push(`Secret ${secret.metadata.name}`);
  }
  found.push(...differences(before, countNas(world)));
  for (const node of world.machines.nodes()) found.push(`Talos node ${node.name}`);
  return found;
}

/** What is on the NAS, by kind. */
export type NasCount = ReadonlyMap<string, readonly string[]>;

/** The image cache is not counted: it is kept for the next cluster, and the demo says so. */
export function countNas(world: RunningWorld): NasCount {
  const dump = world.truenas.dump();
  const kept = (name: string): boolean => !/(^|\/)images($|\/)/.test(name);
  return new Map([
    ['VM', dump.vms.map((vm) => String(vm.name))],
    ['dataset', dump.datasets.map((dataset) => String(dataset.name)).filter(kept)],
    ['file', dump.files.map((file) => String(file.path)).filter(kept)],
  ]);
}

function differences(before: NasCount, after: NasCount): string[] {
  return [...after].flatMap(([kind, names]) =>
    names.filter((name) => !before.get(kind)?.includes(name)).map((name) => `${kind} ${name}`),
  );
}
