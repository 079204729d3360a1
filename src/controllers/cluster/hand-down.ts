import { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp.ts';
import { mergeDiff } from '../../lib/merge-patch.ts';
import { handedDown } from '../objects.ts';
import type { Services } from '../services.ts';

/**
 * Labels and annotations that the contract hands down follow on the Machines of a Cluster for its whole life, also when they
 * are taken off. What else is on a Machine stays. Returns how many were changed.
 */
export async function handDownMetadata(
  { kube }: Pick<Services, 'kube'>,
  cluster: Cluster,
  machines: readonly Machine[],
  signal: AbortSignal,
): Promise<number> {
  const wanted = metadataOf(cluster);
  let changed = 0;
  for (const machine of machines) {
    const patch = mergeDiff(metadataOf(machine), wanted);
    if (!patch) continue;
    await kube.merge(Machine, { name: machine.metadata.name }, { metadata: patch }, {}, signal);
    changed += 1;
  }
  return changed;
}

const metadataOf = ({ metadata }: Cluster | Machine) => ({
  labels: handedDown(metadata.labels),
  annotations: handedDown(metadata.annotations),
});
