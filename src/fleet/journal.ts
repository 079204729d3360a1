/**
 * `syncing`: its caches are filled. `engaged`: consumers use it. `failed`: it could not be engaged, and is tried again.
 * `rejected`: its entry in the inventory cannot be used. `gone`: it has left the fleet. `kept`: all clusters stay, although a list
 * of the inventory lacks nearly all of them.
 */
export type ClusterState = 'syncing' | 'engaged' | 'failed' | 'rejected' | 'gone' | 'kept';

/** Why a cluster has changed its state. */
export type ClusterChangeReason =
  | 'added'
  | 'connection-changed'
  | 'credentials-changed'
  | 'other-cluster'
  | 'start-failed'
  | 'consumer-failed'
  | 'invalid-entry'
  | 'list-uncertain'
  | 'removed'
  | 'shutdown';

export interface ClusterTransition {
  /** Empty for `kept`, which concerns all clusters. */
  readonly cluster: string;
  readonly id: string;
  readonly state: ClusterState;
  readonly reason: ClusterChangeReason;
  readonly at: Date;
  /** Without secrets. */
  readonly message?: string;
}

const kept = 100;

/** The last transitions of all clusters, the oldest first. */
export class FleetJournal {
  #transitions: readonly ClusterTransition[] = [];

  add(transition: ClusterTransition): void {
    this.#transitions = [...this.#transitions, transition].slice(-kept);
  }

  list(cluster?: string): readonly ClusterTransition[] {
    return cluster === undefined
      ? this.#transitions
      : this.#transitions.filter((transition) => transition.cluster === cluster);
  }
}
