import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { shortHash } from '../../lib/hash.ts';

/** Specs in a cache are immutable, so each is read once. */
const hashes = new WeakMap<ProviderConfigSpec, { readonly release: string; readonly hash: string }>();

/**
 * Identifies a spec, merged or not, so that a Cluster can tell which of its Machines were compared with it. Another release
 * of the provider may make another configuration of the same spec. How changes reach machines, what is done with unhealthy
 * ones, what is backed up, and what is published, is no part of what the machines are to be.
 */
export function hashSpec(spec: ProviderConfigSpec, release: string): string {
  const known = hashes.get(spec);
  if (known && known.release === release) return known.hash;
  const { rollout: _, remediation: __, backup: ___, publish: ____, ...rest } = spec;
  const hash = shortHash(JSON.stringify([release, rest]));
  hashes.set(spec, { release, hash });
  return hash;
}

/**
 * Identifies what the Machines of a cluster are compared with: the spec, and the certificate authorities that their nodes are
 * to have.
 */
export const hashComparison = (
  spec: ProviderConfigSpec,
  release: string,
  secrets: { readonly authorities: string } | undefined,
): string => shortHash(`${hashSpec(spec, release)} ${secrets?.authorities ?? ''}`);
