import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { isNotFound } from '../../kube/errors.ts';
import { createMergePatch } from '../../lib/merge-patch.ts';
import { inheritedMetadata } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';

const onlyControlPlaneMark = annotations.onlyControlPlane;

/**
 * Labels and annotations that the contract hands down follow on the Machines of a Cluster for its whole life, also when they
 * are taken off; and the only control plane of a cluster that has begun is marked, so that the API server refuses to delete it.
 * What else is on a Machine stays.
 */
export async function reconcileMachineMetadata(
  { kube }: Pick<Services, 'kube'>,
  { cluster, machines, secrets }: Pick<ClusterView, 'cluster' | 'machines' | 'secrets'>,
  signal: AbortSignal,
): Promise<void> {
  const { labels, annotations: notes } = cluster.metadata;
  const only = secrets?.bootstrapMachine === undefined ? undefined : findOnlyControlPlane(machines);
  // Without its secrets nothing is known of a cluster, and nothing is taken back.
  const mustStay = (machine: Machine): boolean =>
    secrets === undefined ? hasOnlyControlPlaneMark(machine) : machine === only;
  for (const machine of machines) {
    const present = {
      labels: inheritedMetadata(machine.metadata.labels),
      annotations: {
        ...inheritedMetadata(machine.metadata.annotations),
        ...(hasOnlyControlPlaneMark(machine) && { [onlyControlPlaneMark]: 'true' }),
      },
    };
    const wanted = {
      labels: inheritedMetadata(labels),
      annotations: { ...inheritedMetadata(notes), ...(mustStay(machine) && { [onlyControlPlaneMark]: 'true' }) },
    };
    const patch = createMergePatch(present, wanted);
    if (patch) await kube.merge(Machine, { name: machine.metadata.name }, { metadata: patch }, {}, signal);
  }
}

const hasOnlyControlPlaneMark = ({ metadata }: Machine): boolean =>
  metadata.annotations?.[onlyControlPlaneMark] !== undefined;

/** The only one that stays. The others may be leaving, or be missing until they are made again. */
function findOnlyControlPlane(machines: readonly Machine[]): Machine | undefined {
  const staying = machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);
  return staying.length === 1 ? staying[0] : undefined;
}

/** Deletes a Machine with its Cluster, for which no control plane is one that has to stay. */
export async function deleteMachine(
  { kube }: Services,
  { metadata, spec }: Machine,
  signal: AbortSignal,
): Promise<void> {
  const { name, deletionTimestamp } = metadata;
  if (deletionTimestamp) return;
  try {
    // The cache may not know yet that it was marked.
    if (spec.role === 'controlplane')
      await kube.merge(Machine, { name }, { metadata: { annotations: { [onlyControlPlaneMark]: null } } }, {}, signal);
    await kube.remove(Machine, { name }, {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
