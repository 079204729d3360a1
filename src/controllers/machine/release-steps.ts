import type { Machine } from '../../api/machine.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Step } from '../../engine/step.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import { clusterOfMachine } from '../cluster/identity.ts';
import { findCluster } from '../cluster/ownership.ts';
import type { Services } from '../shared/services.ts';
import { withReleaseApproval } from './approved-release.ts';
import { leaveEtcdStep } from './release/leave-etcd.ts';
import { deleteNodeStep, drainNodeStep } from './release/node-steps.ts';
import { isClusterReleasing } from './release/remaining-cluster.ts';

/**
 * The steps that release a Machine. A node of others stays as it is. If its Cluster remains, the node is drained first, a
 * control plane leaves etcd, and the Node is deleted after the steps of the platform.
 */
export function releaseStepsOf(
  services: Services,
  machine: Machine,
  platform: Platform,
): readonly Step<TalosStepContext>[] {
  const release = withReleaseApproval(services, machine, platform);
  if (platform.isExternal || isClusterReleasing(services, findCluster(services.stores, clusterOfMachine(machine))))
    return release;
  const etcd = machine.spec.role === 'controlplane' ? [leaveEtcdStep(services, machine)] : [];
  return [drainNodeStep(services, machine), ...etcd, ...release, deleteNodeStep(services, machine)];
}
