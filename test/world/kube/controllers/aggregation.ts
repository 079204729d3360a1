import { asArray, asObject, canonical } from '../json.ts';
import { type PolicyRule, rbacStorage, rulesIn } from '../rbac.ts';
import { matchesSelectorObject } from '../selectors.ts';
import type { Storage } from '../store.ts';
import { follow } from './loop.ts';

const table = rbacStorage('clusterroles');

/** Fills the rules of ClusterRoles that say which other ClusterRoles they are the sum of. */
export function runAggregation(storage: Storage): () => void {
  const aggregated = (): string[] =>
    storage.all(table).flatMap((role) => (role['aggregationRule'] ? [role.metadata.name] : []));
  return follow(
    storage,
    (change) => (change.storage === table ? aggregated() : []),
    (name) => sumUp(storage, name),
    aggregated(),
  );
}

/** The sum at this moment; also what the first roles of a cluster begin with. */
export function sumUp(storage: Storage, name: string): void {
  const role = storage.read(table, undefined, name);
  if (!role) return;
  const selectors = asArray(asObject(role['aggregationRule'])['clusterRoleSelectors']);
  const parts = storage
    .all(table)
    .filter(
      (other) =>
        other.metadata.name !== name &&
        selectors.some((selector) => matchesSelectorObject(asObject(selector), other.metadata.labels ?? {})),
    );
  const rules: PolicyRule[] = [];
  for (const rule of parts.flatMap(rulesIn)) {
    if (!rules.some((known) => canonical(known) === canonical(rule))) rules.push(rule);
  }
  if (canonical(rules) !== canonical(rulesIn(role))) storage.write(table, { ...structuredClone(role), rules });
}
