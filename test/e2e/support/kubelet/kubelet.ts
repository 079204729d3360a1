import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { isNotFound } from '../../../../src/kube/errors.ts';
import { Reflector } from '../../../../src/kube/reflector/reflector.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog } from '../../../../src/lib/log.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import { toKubeTime } from './container-process.ts';
import type { Image } from './image.ts';
import { KubePod } from './pod-types.ts';
import { PodWorker } from './pod-worker.ts';

export interface KubeletOptions {
  /** A client for an administrator of the cluster. */
  readonly client: KubeClient;
  /** URL of its API server. */
  readonly server: string;
  /** The namespace whose Pods it runs. */
  readonly namespace: string;
  /** Available images, by name. More may be added. */
  readonly images: ReadonlyMap<string, Image>;
  /** Number of its first Pod. Numbers of Pods are unique on one machine, across all kubelets. */
  readonly firstPod: number;
}

const nodeName = 'played-node';
/** A node that is silent for longer than 50 s counts as lost. */
const heartbeatMilliseconds = 10_000;

/**
 * Simulates scheduler and kubelet of a cluster that has neither: the Pods of a namespace run as processes of this
 * machine, with their own arguments, environment, volumes, network and user.
 */
export class Kubelet {
  /** Every Pod that it has run, oldest first. */
  readonly pods: PodWorker[] = [];
  readonly #options: KubeletOptions;
  readonly #stop = new AbortController();
  readonly #reflector: Reflector<KubePod>;
  readonly #troubles: unknown[] = [];
  /** UIDs of the Pods bound to a node, whether or not the watch has delivered the binding. */
  readonly #bound = new Set<string>();
  readonly #work = new Set<Promise<void>>();
  #watching: Promise<void> = Promise.resolve();
  #heart: NodeJS.Timeout | undefined;
  #silence: { readonly about: (pod: KubePod) => boolean; readonly over: Promise<void> } | undefined;

  private constructor(options: KubeletOptions) {
    this.#options = options;
    const { client, namespace } = options;
    this.#reflector = new Reflector(client, KubePod, { namespace, clock: systemClock, log: noLog });
  }

  static async start(options: KubeletOptions): Promise<Kubelet> {
    const kubelet = new Kubelet(options);
    await options.client.create(KubeNode, { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
    await kubelet.#beat();
    kubelet.#heart = setInterval(() => kubelet.#begin(kubelet.#beat()), heartbeatMilliseconds);
    kubelet.#reflector.onChange(({ kind, object }) => {
      if (kind === 'deleted') kubelet.#begin(kubelet.#find(object)?.stop(0));
      else kubelet.#see(object);
    });
    kubelet.#watching = kubelet.#reflector.start(kubelet.#stop.signal);
    return kubelet;
  }

  /**
   * Suppresses status reports for these Pods from their start on, as a delayed kubelet does, until the caller invokes
   * the returned function.
   */
  fallSilent(about: (pod: KubePod) => boolean): () => void {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = () => {
        this.#silence = undefined;
        resolve();
      };
    });
    this.#silence = { about, over };
    return end;
  }

  /** The last lines of each running program, as a report. */
  tail(lines = 40): string {
    return this.pods
      .slice(-4)
      .map((pod) => {
        const told = pod.lives.flatMap((life) => life.lines.filter((line) => !line.includes('"level":"debug"')));
        return `--- pod ${pod.name}: ${pod.phase} ---\n${told.slice(-lines).join('\n')}\n`;
      })
      .join('');
  }

  /** Kills all running processes. Throws when the kubelet itself failed. */
  async close(): Promise<void> {
    clearInterval(this.#heart);
    this.#stop.abort();
    await this.#watching;
    await Promise.allSettled(this.pods.map((pod) => pod.close()));
    await Promise.allSettled(this.#work);
    if (this.#troubles.length > 0) throw new AggregateError(this.#troubles, `kubelet: ${this.#troubles.join('; ')}`);
  }

  #find({ metadata }: KubePod): PodWorker | undefined {
    return this.pods.find(({ pod }) => pod.metadata.uid === metadata.uid);
  }

  #see(pod: KubePod): void {
    if (this.#stop.signal.aborted) return;
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    const { nodeName: node } = pod.spec;
    const worker = this.#find(pod);
    if (node === undefined) this.#begin(this.#bind(pod));
    else if (worker && deletionTimestamp) this.#begin(worker.stop(deletionGracePeriodSeconds));
    else if (!worker && node === nodeName && !deletionTimestamp) this.#play(pod);
  }

  #play(pod: KubePod): void {
    const noResponse = this.#silence?.about(pod) ? this.#silence.over : Promise.resolve();
    const worker = new PodWorker({
      ...this.#options,
      pod,
      number: this.#options.firstPod + this.pods.length,
      silence: noResponse,
    });
    this.pods.push(worker);
    this.#begin(worker.ended);
  }

  async #bind({ metadata }: KubePod): Promise<void> {
    const { namespace, name, uid = '' } = metadata;
    if (this.#bound.has(uid)) return;
    this.#bound.add(uid);
    try {
      await this.#options.client.raw('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error; // Deleted since.
    }
  }

  /** Without the heartbeat the node's Pods would count as lost. */
  async #beat(): Promise<void> {
    const now = toKubeTime(new Date());
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now };
    const patch = { status: { conditions: [{ ...ready, lastTransitionTime: now }] } };
    await this.#options.client.merge(KubeNode, { name: nodeName }, patch, { subresource: 'status' });
  }

  #begin(work: Promise<void> | undefined): void {
    if (!work) return;
    const done = work.catch((error: unknown) => void this.#troubles.push(error)).finally(() => this.#work.delete(done));
    this.#work.add(done);
  }
}
