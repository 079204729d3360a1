import { clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { ProviderInstance } from '../../../api/names.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import { clusterOfMachine, isOwnMachine } from '../../cluster/identity.ts';
import { findCluster } from '../../cluster/ownership.ts';
import { findSecretsState, isOwnConfig } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';
import { resolveDesiredSpec } from '../../shared/spec/desired-spec.ts';
import { readRolloutRequest } from '../policy/rollout-hold.ts';
import { hashComparison } from '../spec-hash.ts';
import { type RolloutSummary, summarizeRollout } from './summarize-rollout.ts';

export type RolloutSources = ProviderInstance & Pick<Services, 'stores' | 'platforms' | 'release'>;

/** A rollout for a metric. */
export interface ListedRollout extends RolloutSummary {
  readonly config: string;
  readonly isPaused: boolean;
}

/** The rollouts of all ProviderConfigs of this instance, from the caches. */
export function listRollouts(sources: RolloutSources): ListedRollout[] {
  const configs = sources.stores.providerConfigs.list().filter((config) => isOwnConfig(sources, config));
  const byConfig = new Map<string, Machine[]>();
  for (const machine of sources.stores.machines.list()) {
    const { name } = machine.spec.providerConfigRef;
    const known = byConfig.get(name);
    if (known) known.push(machine);
    else byConfig.set(name, [machine]);
  }
  return configs.map((config) => ({
    config: config.metadata.name,
    isPaused: readRolloutRequest(config) === 'pause',
    ...summarizeConfig(sources, config, byConfig.get(config.metadata.name) ?? []),
  }));
}

/** The Machines of this instance that were created from a ProviderConfig. */
export const machinesOfConfig = (sources: RolloutSources, config: string): Machine[] =>
  sources.stores.machines
    .list()
    .filter(({ spec }) => spec.providerConfigRef.name === config && isOwnMachine(sources, spec));

export function summarizeConfig(
  sources: RolloutSources,
  config: ProviderConfig,
  machines: readonly Machine[],
): RolloutSummary {
  const hashes = new Map<string, string | undefined>();
  const hashOf = (machine: Machine): string | undefined => {
    const identity = clusterOfMachine(machine);
    const key = clusterIdentityKey(identity);
    if (!hashes.has(key)) {
      const cluster = findCluster(sources.stores, identity);
      const desired = cluster && resolveDesiredSpec(sources, config, cluster);
      const state = findSecretsState(sources, identity);
      const secrets = state?.kind === 'usable' ? state.secrets : undefined;
      const spec = desired && 'spec' in desired ? desired.spec : undefined;
      hashes.set(key, spec && hashComparison(spec, sources.release, secrets));
    }
    return hashes.get(key);
  };
  return summarizeRollout(machines, hashOf);
}
