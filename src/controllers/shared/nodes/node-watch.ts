import type { KubeClient } from '../../../kube/client/client.ts';
import { NodeRow } from '../../../kube/core-types.ts';
import type { ObjectChange } from '../../../kube/reflector/object-store.ts';
import { Reflector } from '../../../kube/reflector/reflector.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';

/**
 * A kubelet tells of its node every five minutes, give or take half of that (`nodeStatusReportFrequency`): of a cluster that is
 * silent for longer nobody writes, whatever its API server's own bookmarks would say. A server that is gone ends its connections
 * itself, or TCP notices within a little more than a minute.
 */
const idleSeconds = 600;
/** To open one costs more than all that it tells in between. */
const watchSeconds = 1800;

/** Ten times as many as a cluster of ours may have: others are not ours. */
const maxNodes = 5000;

interface NodeWatchOptions {
  /** For logs. */
  readonly name: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Learns of a node that became ready or ceases to be, that came or went. */
  changed(node: string): void;
  /** Learns that the API server is not heard of any more. Not called again before it was. */
  lost(): void;
}

/** What the API server of one cluster says of its nodes, for as long as it says anything. */
export class NodeWatch {
  readonly client: KubeClient;
  readonly #nodes: Reflector<NodeRow>;
  readonly #over = new AbortController();
  readonly #run: Promise<void>;
  #isHeard = false;
  #firstWord: () => void = () => {};
  /** Resolves with the first list of all nodes, or with the first failure. */
  readonly begun = new Promise<void>((resolve) => {
    this.#firstWord = resolve;
  });

  constructor({ name, client, clock, log, changed, lost }: NodeWatchOptions) {
    this.client = client;
    const heard = (): void => {
      this.#isHeard = true;
      this.#firstWord();
    };
    const failed = (): void => {
      const wasHeard = this.#isHeard;
      this.#isHeard = false;
      this.#firstWord();
      if (wasHeard) lost();
    };
    const observer = { listed: heard, event: heard, watched: () => {}, failed };
    // Nothing is done because time has passed.
    const resyncSeconds = Number.POSITIVE_INFINITY;
    const manner = { bookmarks: false, idleSeconds, watchSeconds, resyncSeconds, mostObjects: maxNodes };
    this.#nodes = new Reflector(client, NodeRow, { ...manner, name, clock, log, observer });
    this.#nodes.onChange((change) => {
      if (hasReadinessChanged(change)) changed(change.object.metadata.name);
    });
    this.#run = this.#nodes.start(this.#over.signal);
  }

  /** All of it is known, and it was heard of since anything went wrong. */
  get isHeard(): boolean {
    return this.#isHeard && this.#nodes.isSynced;
  }

  isReady(node: string): boolean {
    return this.isHeard && isNodeRowReady(this.#nodes.get({ name: node }));
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#firstWord();
    await this.#run;
  }
}

/** `Ready`, whatever else is said after it. */
const isNodeRowReady = (node: NodeRow | undefined): boolean => node !== undefined && /^Ready(,|$)/.test(node.status);

const hasReadinessChanged = ({ kind, object, before }: ObjectChange<NodeRow>): boolean =>
  kind === 'updated' ? isNodeRowReady(object) !== isNodeRowReady(before) : kind !== 'resync';
