import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import type { Services } from '../shared/services.ts';
import { isUpdating } from './decide-rollout.ts';

/**
 * Lets one cluster of a ProviderConfig change at a time: a change that does harm is noticed on the first, and does not
 * reach the others. The turn of a cluster ends when no Machine of it waits for an update. Kept in memory; after a restart
 * the Machines show which cluster was being changed.
 */
export class RolloutTurns {
  /** UID of the Cluster by name of the ProviderConfig. */
  readonly #holders = new Map<string, string>();

  /** The name of the cluster whose turn it is; undefined: it is the turn of the given one. */
  take({ stores }: Pick<Services, 'stores'>, config: string, cluster: ClusterIdentity): string | undefined {
    const ofConfig = stores.machines.list().filter(({ spec }) => spec.providerConfigRef.name === config);
    const others = ofConfig.filter(
      ({ spec, metadata }) => spec.clusterRef.uid !== cluster.uid && !metadata.deletionTimestamp,
    );
    const holder = this.#holders.get(config);
    const current =
      others.find((machine) => isUpdating(machine)) ??
      others.find((machine) => machine.spec.clusterRef.uid === holder && machine.status?.pending?.class === 'live');
    if (current) return `${current.spec.clusterRef.namespace}/${current.spec.clusterRef.name}`;
    this.#holders.set(config, cluster.uid);
    return undefined;
  }

  close(): void {}
}

export const rolloutTurnsOf = ({ connections }: Pick<Services, 'connections'>): RolloutTurns =>
  connections.get('rollout-turns', () => new RolloutTurns());
