import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { isNotFound } from '../../kube/errors.ts';
import { mergeDiff } from '../../lib/merge-patch.ts';
import { handedDown } from '../objects.ts';
import type { Services } from '../services.ts';
import type { ClusterView } from './view.ts';

const mark = annotations.onlyControlPlane;

/**
 * Labels and annotations that the contract hands down follow on the Machines of a Cluster for its whole life, also when they
 * are taken off; and the only control plane of a cluster that has begun is marked, so that the API server refuses to delete it.
 * What else is on a Machine stays.
 */
export async function keepMachineMetadata(
  { kube }: Pick<Services, 'kube'>,
  { cluster, machines, secrets }: Pick<ClusterView, 'cluster' | 'machines' | 'secrets'>,
  signal: AbortSignal,
): Promise<void> {
  const { labels, annotations: notes } = cluster.metadata;
  const only = secrets?.bootstrapMachine === undefined ? undefined : onlyControlPlane(machines);
  // Without its secrets nothing is known of a cluster, and nothing is taken back.
  const mustStay = (machine: Machine): boolean => (secrets === undefined ? isMarked(machine) : machine === only);
  for (const machine of machines) {
    const present = {
      labels: handedDown(machine.metadata.labels),
      annotations: { ...handedDown(machine.metadata.annotations), ...(isMarked(machine) && { [mark]: 'true' }) },
    };
    const wanted = {
      labels: handedDown(labels),
      annotations: { ...handedDown(notes), ...(mustStay(machine) && { [mark]: 'true' }) },
    };
    const patch = mergeDiff(present, wanted);
    if (patch) await kube.merge(Machine, { name: machine.metadata.name }, { metadata: patch }, {}, signal);
  }
}

const isMarked = ({ metadata }: Machine): boolean => metadata.annotations?.[mark] !== undefined;

/** The only one that stays. The others may be leaving, or be missing until they are made again. */
function onlyControlPlane(machines: readonly Machine[]): Machine | undefined {
  const staying = machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);
  return staying.length === 1 ? staying[0] : undefined;
}

/** Deletes a Machine with its Cluster, for which no control plane is one that has to stay. */
export async function removeMachine(
  { kube }: Services,
  { metadata, spec }: Machine,
  signal: AbortSignal,
): Promise<void> {
  const { name, deletionTimestamp } = metadata;
  if (deletionTimestamp) return;
  try {
    // The cache may not know yet that it was marked.
    if (spec.role === 'controlplane')
      await kube.merge(Machine, { name }, { metadata: { annotations: { [mark]: null } } }, {}, signal);
    await kube.remove(Machine, { name }, {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
