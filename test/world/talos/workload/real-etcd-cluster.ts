import { mkdir } from 'node:fs/promises';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { chooseEtcdSettings, type EtcdSettings, startEtcd } from '../../../peers/etcd.ts';
import type { PeerProcess } from '../../../peers/peer-process.ts';
import type { TalosEnvironment } from '../environment.ts';
import type { SimulatedEtcdCluster } from '../kubernetes/etcd.ts';
import { mirrorObjects } from './mirror-objects.ts';
import { ServerPods } from './server-pods.ts';

/**
 * The shared parts of the real API servers of one simulated cluster: an etcd that runs while the simulated members have
 * a quorum, and a mirror of Nodes and static pods through one of the servers.
 */
export class RealEtcdCluster {
  /** Folder for all files of these programs. */
  readonly folder: string;
  /** The Pods on the servers. */
  readonly pods = new ServerPods();
  readonly #cluster: SimulatedEtcdCluster;
  readonly #unsubscribe: () => void;
  readonly #clients = new Set<KubeClient>();
  #place: Promise<EtcdSettings> | undefined;
  #etcd: PeerProcess | undefined;
  /** Starts and stops of etcd, one after the other. */
  #turn: Promise<void> = Promise.resolve();
  #mirroring:
    | { readonly client: KubeClient; readonly stop: AbortController; readonly ended: Promise<void> }
    | undefined;

  constructor(world: TalosEnvironment, cluster: SimulatedEtcdCluster, folder: string) {
    this.#cluster = cluster;
    this.folder = folder;
    this.#unsubscribe = world.onChange(() => {
      this.#follow().catch((error: unknown) => world.log({ etcd: cluster.uid }, `etcd: ${String(error)}`));
    });
  }

  /** The URL of etcd; with a quorum it answers at this point. */
  async etcd(): Promise<string> {
    await this.#follow();
    return (await this.#place)?.url ?? '';
  }

  /** Registers a client for the mirror until the returned function is called. */
  join(client: KubeClient): () => Promise<void> {
    this.#clients.add(client);
    this.#startMirror();
    return async () => {
      this.#clients.delete(client);
      if (this.#mirroring?.client !== client) return;
      await this.#stopMirror();
      this.#startMirror();
    };
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#stopMirror();
    await this.#turn.catch(() => undefined);
    await this.#etcd?.stop(0);
  }

  /** Starts or stops etcd to match the quorum. */
  #follow(): Promise<void> {
    const turn = this.#turn
      .catch(() => undefined)
      .then(async () => {
        if (this.#cluster.quorum === (this.#etcd !== undefined)) return;
        if (this.#etcd) {
          await this.#etcd.stop(0);
          this.#etcd = undefined;
          return;
        }
        await mkdir(this.folder, { recursive: true });
        this.#place ??= chooseEtcdSettings('127.0.0.1', this.folder);
        this.#etcd = await startEtcd(await this.#place);
      });
    this.#turn = turn;
    return turn;
  }

  #startMirror(): void {
    const [client] = this.#clients;
    if (!client || this.#mirroring) return;
    const stop = new AbortController();
    this.#mirroring = { client, stop, ended: mirrorObjects(client, this.#cluster.store, this.pods, stop.signal) };
  }

  async #stopMirror(): Promise<void> {
    const mirroring = this.#mirroring;
    mirroring?.stop.abort();
    await mirroring?.ended.catch(() => undefined);
    this.#mirroring = undefined;
    this.pods.connect(undefined);
  }
}
