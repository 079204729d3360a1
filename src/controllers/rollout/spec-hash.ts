import { createHash } from 'node:crypto';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** Specs in a cache are immutable, so each is hashed once. */
const known = new WeakMap<ProviderConfigSpec, string>();

/**
 * Identifies a spec, merged or not, so that a Cluster can tell which of its Machines were compared with it. How changes
 * reach machines is no part of what the machines are to be.
 */
export function hashSpec(spec: ProviderConfigSpec): string {
  const { rollout: _, ...rest } = spec;
  const hash = known.get(spec) ?? createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16);
  known.set(spec, hash);
  return hash;
}
