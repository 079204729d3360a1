import type { KubeClient } from '../../../kube/client/client.ts';
import { NodeRow } from '../../../kube/core-types.ts';
import type { ObjectChange } from '../../../kube/reflector/object-store.ts';
import { Reflector } from '../../../kube/reflector/reflector.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';

/**
 * A kubelet updates its Node every five minutes, give or take half of that (`nodeStatusReportFrequency`): in a cluster
 * that is silent for longer, no kubelet writes, even if the API server sends bookmarks. A server that is gone closes
 * its connections, or TCP detects it within a little more than a minute.
 */
const idleSeconds = 600;
/** A new watch costs more than all events that it delivers in this time. */
const watchSeconds = 1800;

/** Ten times the largest supported cluster. */
const maxNodes = 5000;

interface NodeWatchOptions {
  /** For logs. */
  readonly name: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a Node is added, is deleted or changes its readiness. */
  changed(node: string): void;
  /** Called when the API server becomes unreachable, once until it is reachable again. */
  lost(): void;
}

/** Watches the Nodes of one cluster. */
export class NodeWatch {
  readonly client: KubeClient;
  readonly #nodes: Reflector<NodeRow>;
  readonly #over = new AbortController();
  readonly #run: Promise<void>;
  #isConnected = false;
  #firstEvent: () => void = () => {};
  /** Resolves with the first complete list, or with the first failure. */
  readonly isStarted = new Promise<void>((resolve) => {
    this.#firstEvent = resolve;
  });

  constructor({ name, client, clock, log, changed, lost }: NodeWatchOptions) {
    this.client = client;
    const received = (): void => {
      this.#isConnected = true;
      this.#firstEvent();
    };
    const failed = (): void => {
      const wasConnected = this.#isConnected;
      this.#isConnected = false;
      this.#firstEvent();
      if (wasConnected) lost();
    };
    const observer = { listed: received, event: received, watched: () => {}, failed };
    // There are no periodic resyncs.
    const resyncSeconds = Number.POSITIVE_INFINITY;
    const manner = { bookmarks: false, idleSeconds, watchSeconds, resyncSeconds, maxObjects: maxNodes };
    this.#nodes = new Reflector(client, NodeRow, { ...manner, name, clock, log, observer });
    this.#nodes.onChange((change) => {
      if (hasReadinessChanged(change)) changed(change.object.metadata.name);
    });
    this.#run = this.#nodes.start(this.#over.signal);
  }

  /** The list is complete, and the API server has answered since the last failure. */
  get isConnected(): boolean {
    return this.#isConnected && this.#nodes.isSynced;
  }

  isReady(node: string): boolean {
    return this.isConnected && isNodeRowReady(this.#nodes.get({ name: node }));
  }

  /** The names of the Nodes that are not Ready. None while the watch is not current. */
  listUnready(): string[] {
    if (!this.isConnected) return [];
    return this.#nodes
      .list()
      .filter((node) => !isNodeRowReady(node))
      .map(({ metadata }) => metadata.name);
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#firstEvent();
    await this.#run;
  }
}

/** `Ready`, possibly followed by other values. */
const isNodeRowReady = (node: NodeRow | undefined): boolean => node !== undefined && /^Ready(,|$)/.test(node.status);

const hasReadinessChanged = ({ kind, object, before }: ObjectChange<NodeRow>): boolean =>
  kind === 'updated' ? isNodeRowReady(object) !== isNodeRowReady(before) : kind !== 'resync';
