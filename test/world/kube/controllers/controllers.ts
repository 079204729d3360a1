import { Registry } from '../registry.ts';
import type { Storage } from '../store.ts';
import { runAggregation } from './aggregation.ts';
import { runGarbageCollector } from './garbage.ts';
import { runNamespaces } from './namespaces.ts';

/** What the controller-manager does: collects garbage, empties namespaces and furnishes new ones, sums up roles. */
export function runControllers(storage: Storage, rootCa: string): () => void {
  const registry = new Registry(storage);
  const stops = [runNamespaces(storage, rootCa), runGarbageCollector(storage, registry), runAggregation(storage)];
  return () => {
    for (const stop of stops) stop();
  };
}
