import { Machine } from '../../../api/machine.ts';
import { finalizers } from '../../../api/names.ts';
import type { ObjectKey } from '../../../kube/resource.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { clusterOfMachine, isOwnMachine } from '../../cluster/identity.ts';
import { findCluster } from '../../cluster/ownership.ts';
import { consumeOperation, ensureFinalizer, hasIgnoreOperation } from '../../shared/objects.ts';
import { isBeingRestored } from '../../shared/secrets/restore-record.ts';
import type { Services } from '../../shared/services.ts';
import { prepareStepEnvironment, type StepEnvironment } from '../step-environment.ts';
import type { MachineReconcileContext, MachineTask } from './machine-task.ts';
import { NodeClients } from './node-clients.ts';

/** What a Machine is to become. */
export interface DesiredMachine extends MachineTask {
  /** `provision`: to exist, and to stay as it was created. */
  readonly goal: 'provision' | 'release';
  /** Etcd of the cluster is being restored: the node is neither changed nor released. */
  readonly isRestoring: boolean;
  /** What every step and observation uses, or the prerequisite that is missing. */
  readonly environment: StepEnvironment | ProviderError;
}

/**
 * Undefined: nothing is to be done. The object is read from the API server and not from the cache, because the progress
 * record must never be older than our own last write.
 */
export async function readDesiredMachine(
  services: Services,
  key: ObjectKey,
  context: MachineReconcileContext,
): Promise<DesiredMachine | undefined> {
  // Whatever triggered this reconcile, the Machine is monitored again only after it was observed as idle.
  context.monitor.release(key.name);
  const found = await services.kube.find(Machine, key, context.signal);
  if (!found || !isOwnMachine(services, found.spec)) return undefined;
  // The Cluster wakes its Machines when the annotation is removed.
  const ref = clusterOfMachine(found);
  const cluster = findCluster(services.stores, ref);
  if (hasIgnoreOperation(cluster)) return undefined;
  const { operation, object } = await consumeOperation(services.kube, Machine, found, context.signal);
  if (operation === 'ignore') return undefined;
  const goal = object.metadata.deletionTimestamp ? 'release' : 'provision';
  const machine = await withFinalizer(services, object, context.signal);
  if (!machine) return undefined;
  const isRestoring = cluster !== undefined && !cluster.metadata.deletionTimestamp && isBeingRestored(services, ref);
  const nodes = new NodeClients((address) => services.targets.talos(ref, address));
  const task: MachineTask = { services, machine, context, nodes };
  return { ...task, goal, isRestoring, environment: prepareEnvironment(task) };
}

/** Undefined: the Machine no longer exists, or is deleted and was never provisioned. */
async function withFinalizer({ kube }: Services, machine: Machine, signal: AbortSignal): Promise<Machine | undefined> {
  if (!machine.metadata.deletionTimestamp)
    return await ensureFinalizer(kube, Machine, machine, finalizers.machine, signal);
  return machine.metadata.finalizers?.includes(finalizers.machine) ? machine : undefined;
}

function prepareEnvironment(task: MachineTask): StepEnvironment | ProviderError {
  try {
    return prepareStepEnvironment(task);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}
