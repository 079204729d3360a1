import { ResourceRegistry } from '../storage/resource-registry.ts';
import type { ObjectStorage } from '../storage/store.ts';
import { runDisruptionController } from './disruption-controller.ts';
import { runGarbageCollector } from './garbage-collector.ts';
import { runNamespaceController } from './namespace-controller.ts';
import { runRoleAggregation } from './role-aggregation.ts';
import { runWorkloadControllers } from './workload-controllers.ts';

/**
 * The simulated part of the controller-manager: garbage collection, namespace deletion, namespace defaults, role
 * aggregation, status of PodDisruptionBudgets, and with `workloads` Deployments, DaemonSets and the scheduler.
 */
export function runControllers(
  storage: ObjectStorage,
  { rootCa, workloads }: { readonly rootCa: string; readonly workloads: boolean },
): () => void {
  const registry = new ResourceRegistry(storage);
  const stops = [
    runNamespaceController(storage, rootCa),
    runGarbageCollector(storage, registry),
    runRoleAggregation(storage),
    runDisruptionController(storage),
    ...(workloads ? [runWorkloadControllers(storage)] : []),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
