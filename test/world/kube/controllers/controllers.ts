import { ResourceRegistry } from '../storage/resource-registry.ts';
import type { ObjectStorage } from '../storage/store.ts';
import { runGarbageCollector } from './garbage-collector.ts';
import { runNamespaceController } from './namespace-controller.ts';
import { runRoleAggregation } from './role-aggregation.ts';

/**
 * The simulated part of the controller-manager: garbage collection, namespace deletion, namespace defaults, role
 * aggregation.
 */
export function runControllers(storage: ObjectStorage, rootCa: string): () => void {
  const registry = new ResourceRegistry(storage);
  const stops = [
    runNamespaceController(storage, rootCa),
    runGarbageCollector(storage, registry),
    runRoleAggregation(storage),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
