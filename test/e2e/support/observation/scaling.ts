import { Machine } from '../../../../src/api/machine.ts';
import { Cluster, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** The phases that a Cluster has had since a time, each once. */
export function phasesSince({ recorder }: Testbed, cluster: NamespacedRef, since: Date): string[] {
  const versions = recorder.of(Cluster, cluster).filter(({ at }) => at >= since);
  return [...new Set(versions.map(({ object }) => object.status?.phase ?? ''))];
}

/** The largest number of Machines that were in deletion at the same time, and all of them in their order. */
export function deletionsSince(
  { recorder }: Testbed,
  since: Date,
): { readonly most: number; readonly names: string[] } {
  const going = new Set<string>();
  const names: string[] = [];
  let most = 0;
  for (const { at, object, deleted } of recorder.of(Machine)) {
    const { name, deletionTimestamp } = object.metadata;
    if (at < since) continue;
    if (deleted) going.delete(name);
    else if (deletionTimestamp && !going.has(name)) {
      going.add(name);
      names.push(name);
    }
    most = Math.max(most, going.size);
  }
  return { most, names };
}
