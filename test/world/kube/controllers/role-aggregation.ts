import { type RbacRule, rbacStorage, rulesOfRole } from '../auth/rbac.ts';
import { asArray, asObject, canonicalJson } from '../json.ts';
import { matchesSelectorObject } from '../storage/selectors.ts';
import type { ObjectStorage } from '../storage/store.ts';
import { runKeyedLoop } from './loop.ts';

const table = rbacStorage('clusterroles');

/** Fills the rules of aggregated ClusterRoles. */
export function runRoleAggregation(storage: ObjectStorage): () => void {
  const aggregated = (): string[] =>
    storage.all(table).flatMap((role) => (role['aggregationRule'] ? [role.metadata.name] : []));
  return runKeyedLoop(
    storage,
    (change) => (change.storage === table ? aggregated() : []),
    (name) => aggregateRole(storage, name),
    aggregated(),
  );
}

/** The current aggregated rules; also the initial rules of a cluster's default roles. */
export function aggregateRole(storage: ObjectStorage, name: string): void {
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
  const rules: RbacRule[] = [];
  for (const rule of parts.flatMap(rulesOfRole)) {
    if (!rules.some((known) => canonicalJson(known) === canonicalJson(rule))) rules.push(rule);
  }
  if (canonicalJson(rules) !== canonicalJson(rulesOfRole(role)))
    storage.write(table, { ...structuredClone(role), rules });
}
