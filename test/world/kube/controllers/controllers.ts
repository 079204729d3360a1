import type { TokenKey } from '../jwt.ts';
import { Registry } from '../registry.ts';
import type { Storage } from '../store.ts';
import { runAggregation } from './aggregation.ts';
import { runGarbageCollector } from './garbage.ts';
import { runNamespaces } from './namespaces.ts';
import { runTokens } from './tokens.ts';

/** What the controller-manager does: collects garbage, empties namespaces and furnishes new ones, sums up roles, fills token Secrets. */
export function runControllers(storage: Storage, rootCa: string, key: TokenKey): () => void {
  const registry = new Registry(storage);
  const stops = [
    runNamespaces(storage, rootCa),
    runGarbageCollector(storage, registry),
    runAggregation(storage),
    runTokens(storage, rootCa, key),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
