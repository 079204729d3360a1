import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { isNotFound } from '../../kube/errors.ts';
import { createMergePatch } from '../../lib/merge-patch.ts';
import { inheritedMetadata } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';

const onlyControlPlaneMark = annotations.onlyControlPlane;

/**
 * Copies the labels and annotations that the contract propagates to the Machines of a Cluster, and removes them again.
 * Once the bootstrap of etcd has begun, it also marks the only control plane, so that the API server refuses its
 * deletion. Other labels and annotations stay.
 */
export async function reconcileMachineMetadata(
  { kube }: Pick<Services, 'kube'>,
  { cluster, machines, secrets }: Pick<ClusterView, 'cluster' | 'machines' | 'secrets'>,
  signal: AbortSignal,
): Promise<void> {
  const { labels, annotations: notes } = cluster.metadata;
  const only = secrets?.bootstrapMachine === undefined ? undefined : findOnlyControlPlane(machines);
  // Without its secrets the state of a cluster is unknown, and no mark is removed.
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

/** The only control plane without deletion. Others may be in deletion, or missing until they are created again. */
function findOnlyControlPlane(machines: readonly Machine[]): Machine | undefined {
  const staying = machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);
  return staying.length === 1 ? staying[0] : undefined;
}

/** Deletes a Machine together with its Cluster. The mark of the only control plane is removed first. */
export async function deleteMachine(
  { kube }: Services,
  { metadata, spec }: Machine,
  signal: AbortSignal,
): Promise<void> {
  const { name, deletionTimestamp } = metadata;
  if (deletionTimestamp) return;
  try {
    // The cache may not show the mark yet.
    if (spec.role === 'controlplane')
      await kube.merge(Machine, { name }, { metadata: { annotations: { [onlyControlPlaneMark]: null } } }, {}, signal);
    await kube.remove(Machine, { name }, {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
