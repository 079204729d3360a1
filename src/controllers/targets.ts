import { clusterId, secretsName } from '../api/names.ts';
import type { NamespacedRef } from '../api/openmcp.ts';
import { KubeClient } from '../kube/client.ts';
import { connectionFrom } from '../kube/connection.ts';
import type { Secret as KubeSecret } from '../kube/core-types.ts';
import { Transport } from '../kube/transport.ts';
import type { Clock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { renderAdminKubeconfig } from '../talos/kubeconfig.ts';
import { readClusterSecrets } from './cluster-secrets.ts';

const lifetimeHours = 24;

interface Target {
  readonly client: KubeClient;
  /** What it was made from; another endpoint or bundle makes another client. */
  readonly from: string;
  readonly renewAt: number;
}

/**
 * Administrator access to the clusters we made, one client for each. The certificates are issued here from the
 * cluster's own authority, live a day and are never stored.
 */
export class Targets {
  readonly #secrets: (name: string) => KubeSecret | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #fieldManager: string;
  readonly #open = new Map<string, Promise<Target>>();

  constructor(options: {
    secrets: (name: string) => KubeSecret | undefined;
    clock: Clock;
    log: Log;
    fieldManager: string;
  }) {
    this.#secrets = options.secrets;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#fieldManager = options.fieldManager;
  }

  /** A client for the cluster whose API server is at `endpoint`. Throws when its secrets do not exist. */
  async client(cluster: NamespacedRef, endpoint: string): Promise<KubeClient> {
    const object = this.#secrets(secretsName(cluster));
    if (!object) throw new ProviderError('CLUSTER_SECRETS_MISSING', `There is no Secret ${secretsName(cluster)}.`);
    const id = clusterId(cluster);
    const from = `${endpoint} ${object.metadata.uid}`;
    const known = await this.#open.get(id)?.catch(() => undefined);
    if (known && known.from === from && this.#clock.now().getTime() < known.renewAt) return known.client;
    const making = this.#make(cluster, endpoint, object, from);
    this.#open.set(id, making);
    const made = await making;
    await known?.client.close();
    return made.client;
  }

  /** Forgets a cluster that is gone. */
  async forget(cluster: NamespacedRef): Promise<void> {
    const known = await this.#open.get(clusterId(cluster))?.catch(() => undefined);
    this.#open.delete(clusterId(cluster));
    await known?.client.close();
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    await Promise.allSettled(
      all.map(async (target) => target.status === 'fulfilled' && (await target.value.client.close())),
    );
  }

  async #make(cluster: NamespacedRef, endpoint: string, object: KubeSecret, from: string): Promise<Target> {
    const now = this.#clock.now();
    const { bundle } = readClusterSecrets(object);
    const kubeconfig = await renderAdminKubeconfig(bundle, {
      clusterName: cluster.name,
      server: endpoint,
      lifetimeSeconds: lifetimeHours * 3600,
      now,
    });
    const transport = new Transport(connectionFrom({ text: kubeconfig }));
    const client = new KubeClient(transport, { fieldManager: this.#fieldManager, deadlineSeconds: 15, log: this.#log });
    return { client, from, renewAt: now.getTime() + (lifetimeHours / 2) * 3_600_000 };
  }
}
