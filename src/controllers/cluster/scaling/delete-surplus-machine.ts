import { Machine } from '../../../api/machine.ts';
import { clusterId, labels } from '../../../api/names.ts';
import type { Log } from '../../../lib/log.ts';
import { isReady, isReplacing } from '../../rollout/machine-change.ts';
import { findWorkloadProblemOf } from '../../rollout/workload-checks.ts';
import type { Services } from '../../shared/services.ts';
import { isOwnOfCluster } from '../identity.ts';
import { type ClusterView, compareMachines } from '../view.ts';
import { chooseSurplusMachine } from './choose-surplus-machine.ts';
import { findEndpointMachine } from './cluster-pools.ts';
import { assessControlPlanes } from './control-plane-health.ts';
import { decideClusterScaleDown } from './decide-cluster-scale-down.ts';
import type { PoolBalance } from './machine-slots.ts';

interface DeleteContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Deletes one Machine of a pool that has too many. The Machines are read from the API server first: a cache that does not
 * show the last deletion yet must not lead to another one.
 */
export async function deleteSurplusMachine(
  services: Services,
  view: ClusterView,
  { pool: wanted }: PoolBalance,
  context: DeleteContext,
): Promise<ClusterView> {
  const current = { ...view, machines: await listMachines(services, view, context.signal) };
  const decision = decideClusterScaleDown(current);
  if (decision.kind !== 'remove' || decision.pool.pool !== wanted) return current;
  const chosen = await chooseMachine(services, current, decision.pool, context.signal);
  if ('problem' in chosen) {
    const obstacle = { pool: wanted, message: chosen.problem };
    return { ...current, scaleDownObstacles: [...(current.scaleDownObstacles ?? []), obstacle] };
  }
  const { name, uid } = chosen.machine.metadata;
  await services.kube.remove(Machine, { name }, uid === undefined ? {} : { uid }, context.signal);
  const { pool, replicas } = decision.pool;
  const why = isReplacing(chosen.machine) ? 'another one takes its place' : `the pool ${pool} is scaled to ${replicas}`;
  const message = `Machine ${name} is deleted: ${why}.`;
  services.events.record(view.cluster, 'Normal', 'MachineDeleted', message);
  context.log.info({ machine: name, pool, replicas }, 'a surplus machine is deleted');
  const deletionTimestamp = services.clock.now().toISOString();
  const machines = current.machines.map((machine) =>
    machine === chosen.machine ? { ...machine, metadata: { ...machine.metadata, deletionTimestamp } } : machine,
  );
  return { ...current, machines };
}

async function listMachines(services: Services, { ref }: ClusterView, signal: AbortSignal): Promise<Machine[]> {
  const { items } = await services.kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(ref)}` }, signal);
  return items.filter((one) => isOwnOfCluster(services, one, ref)).sort(compareMachines);
}

/** Workloads are not checked for a node that is not ready: it may be the reason why their Pods are not available. */
async function chooseMachine(
  services: Services,
  view: ClusterView,
  pool: PoolBalance,
  signal: AbortSignal,
): Promise<{ readonly machine: Machine } | { readonly problem: string }> {
  const chosen = await choosePoolMachine(services, view, pool, signal);
  if ('problem' in chosen || !isReady(chosen.machine)) return chosen;
  const { cluster, ref, spec } = view;
  const checks = spec?.rollout.healthChecks ?? [];
  const problem = await findWorkloadProblemOf(services, { cluster, ref, checks }, signal);
  return problem === undefined ? chosen : { problem };
}

async function choosePoolMachine(
  services: Services,
  view: ClusterView,
  pool: PoolBalance,
  signal: AbortSignal,
): Promise<{ readonly machine: Machine } | { readonly problem: string }> {
  const endpointMachine = findEndpointMachine(view);
  if (pool.role === 'worker') return describeChoice(chooseSurplusMachine(pool.present, pool));
  const { surplus } = pool;
  const kept = pool.present.filter((machine) => !surplus.includes(machine));
  const health = await assessControlPlanes(services, view.ref, { kept, surplus }, signal);
  if ('problem' in health) return health;
  return describeChoice(chooseSurplusMachine(pool.present, { endpointMachine, leader: health.leader }));
}

const describeChoice = (machine: Machine | undefined): { readonly machine: Machine } | { readonly problem: string } =>
  machine ? { machine } : { problem: 'The only Machine left has the address of the endpoint.' };
