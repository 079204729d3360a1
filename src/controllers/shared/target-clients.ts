import {
  belongsToCluster,
  type ClusterIdentity,
  clusterIdentityKey,
  filterClusterIdentityKeys,
} from '../../api/cluster-identity.ts';
import { clusterSecretsName } from '../../api/names.ts';
import type { Closable } from '../../engine/connection.ts';
import { KeptConnections } from '../../engine/kept-connections.ts';
import type { MaintenanceClient } from '../../engine/talos-clients.ts';
import { KubeClient } from '../../kube/client/client.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { createApiServerConnection } from '../../kube/transport/api-server-connection.ts';
import { targetClusterLimits } from '../../kube/transport/response-limits.ts';
import { Transport, type TransportObserver, type TransportOptions } from '../../kube/transport/transport.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { CallObserver } from '../../lib/observers.ts';
import { openTalosClient, type TalosClient } from '../../talos/client/client.ts';
import { openMaintenanceClient } from '../../talos/client/maintenance-client.ts';
import type { KeyPair } from '../../talos/secrets/certificates.ts';
import {
  type ClientCredentials,
  createAdminCredentials,
  createTalosCredentials,
  type TalosCredentials,
} from '../../talos/secrets/client-credentials.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { hashAuthorities, readClusterSecrets } from './secrets/cluster-secrets.ts';

/** Pause between attempts to reach an unresponsive cluster. One caller tries, and the others fail fast. */
const unreachablePauseSeconds = 2;

interface CachedClient {
  readonly client: Promise<KubeClient>;
  /** The inputs of the client: another endpoint or certificate needs another client. */
  readonly endpoint: string;
  readonly pair: Promise<KeyPair>;
}

interface ClusterCredentials {
  /** Hash of the authorities that they were derived from. */
  readonly from: string;
  readonly talos: TalosCredentials;
  readonly admin: ClientCredentials;
}

export interface TargetClientsOptions {
  /** The Secret of that name in the provider's own namespace. */
  secrets(name: string): KubeSecret | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly fieldManager: string;
  /** Observes calls to nodes and requests to API servers of clusters. */
  readonly observer?: CallObserver;
  readonly transportObserver?: TransportObserver;
}

/**
 * Administrator access to the clusters of this provider and their nodes. The certificates are issued here by the
 * cluster's own authorities, are valid for a day and are never stored.
 */
export class TargetClients {
  readonly #options: TargetClientsOptions;
  readonly #open = new Map<string, CachedClient>();
  /** Replaced clients may still be in use, so each is closed at the next replacement. */
  readonly #retired = new Map<string, CachedClient>();
  readonly #credentials = new Map<string, ClusterCredentials>();
  readonly #servers: KeptConnections<Pick<CachedClient, 'client'> & Closable>;

  constructor(options: TargetClientsOptions) {
    this.#options = options;
    this.#servers = new KeptConnections(options.clock);
  }

  /** The shared client of the API server at `endpoint`. Throws without secrets. */
  async client(cluster: ClusterIdentity, endpoint: string): Promise<KubeClient> {
    const { admin } = this.#credentialsOf(cluster);
    const id = clusterIdentityKey(cluster);
    const pair = admin.client();
    const known = this.#open.get(id);
    if (known?.endpoint === endpoint && known.pair === pair) return await known.client;
    const client = this.#connect(endpoint, admin.ca, pair);
    const target: CachedClient = { client, endpoint, pair };
    this.#open.set(id, target);
    if (known) {
      await closeClient(this.#retired.get(id));
      this.#retired.set(id, known);
    }
    return await client.catch((error: unknown) => {
      if (this.#open.get(id) === target) this.#open.delete(id);
      throw error;
    });
  }

  /** Works at the API server of one control plane, at the node's own address. Its connection is kept for some seconds. */
  async atApiServer<T>(cluster: ClusterIdentity, server: string, work: (client: KubeClient) => Promise<T>): Promise<T> {
    const { admin } = this.#credentialsOf(cluster);
    const group = clusterIdentityKey(cluster);
    const credentials = admin.client();
    const shared = this.#open.get(group);
    // The endpoint of a cluster may be the address of its only control plane.
    if (shared?.endpoint === server && shared.pair === credentials) return await work(await shared.client);
    const use = this.#servers.use({ group, address: server, credentials }, () => {
      const client = this.#connect(server, admin.ca, credentials);
      return { client, close: () => closeClient({ client }) };
    });
    try {
      return await work(await use.connection.client);
    } finally {
      await use.end();
    }
  }

  /** A client of an API server with these authorities. The caller closes it. */
  async nodeClientWith(bundle: SecretsBundle, server: string): Promise<KubeClient> {
    const admin = createAdminCredentials(bundle, this.#options.clock);
    return await this.#connect(server, admin.ca, admin.client());
  }

  /**
   * A Talos client of one node. The caller closes it. Its connection is not shared: after one of several users had cut off
   * a call, Node 20.20.2 sent empty HTTP/2 frames without end, until the memory of the machine was full.
   */
  talos(cluster: ClusterIdentity, address: string): TalosClient {
    return this.#openTalos(address, this.#credentialsOf(cluster).talos);
  }

  /** A Talos client with these authorities, and a connection of its own. */
  talosWith(bundle: SecretsBundle, address: string): TalosClient {
    return this.#openTalos(address, createTalosCredentials(bundle, this.#options.clock));
  }

  #openTalos(address: string, credentials: TalosCredentials): TalosClient {
    const { observer } = this.#options;
    return openTalosClient({ address, credentials, ...(observer && { observer }) });
  }

  /** A Talos client of a machine in maintenance mode that will join the cluster. The caller closes it. */
  unconfigured(cluster: ClusterIdentity, address: string, signal: AbortSignal): MaintenanceClient {
    const { observer } = this.#options;
    const { ca } = this.#credentialsOf(cluster).talos;
    return openMaintenanceClient({ address, ca, signal, ...(observer && { observer }) });
  }

  /** Closes the clients of a deleted cluster; without a UID those of all clusters of that name. */
  async forget(cluster: Parameters<typeof filterClusterIdentityKeys>[1]): Promise<void> {
    const all = [this.#open, this.#retired, this.#credentials].flatMap((one) => [...one.keys()]);
    const known = new Set([...all, ...this.#servers.groups]);
    for (const id of filterClusterIdentityKeys(known, cluster)) {
      const targets = [this.#open.get(id), this.#retired.get(id)];
      this.#open.delete(id);
      this.#retired.delete(id);
      this.#credentials.delete(id);
      await this.#servers.forget(id);
      await Promise.all(targets.map(closeClient));
    }
  }

  async close(): Promise<void> {
    const targets = [...this.#open.values(), ...this.#retired.values()];
    this.#open.clear();
    this.#retired.clear();
    await this.#servers.close();
    await Promise.all(targets.map(closeClient));
  }

  #credentialsOf(cluster: ClusterIdentity): ClusterCredentials {
    const object = this.#secretOf(cluster);
    const id = clusterIdentityKey(cluster);
    const from = hashAuthorities(object);
    const known = this.#credentials.get(id);
    if (known?.from === from) return known;
    const { bundle } = readClusterSecrets(object);
    const { clock } = this.#options;
    const made = { from, talos: createTalosCredentials(bundle, clock), admin: createAdminCredentials(bundle, clock) };
    this.#credentials.set(id, made);
    return made;
  }

  #secretOf(cluster: ClusterIdentity): KubeSecret {
    const name = clusterSecretsName(cluster);
    const object = this.#options.secrets(name);
    if (!object || !belongsToCluster(object.metadata, cluster))
      throw new ProviderError(
        'CLUSTER_SECRETS_MISSING',
        `There is no Secret ${name} of Cluster ${cluster.namespace}/${cluster.name} in the namespace of the provider.`,
      );
    return object;
  }

  async #connect(server: string, ca: string, pair: Promise<KeyPair>): Promise<KubeClient> {
    const { certificate: cert, key } = await pair;
    const connection = createApiServerConnection({ server, ca, cert, key });
    const { fieldManager, log, clock, transportObserver: observer } = this.#options;
    const options: TransportOptions = {
      clock,
      unreachablePauseSeconds,
      limits: targetClusterLimits,
      ...(observer && { observer }),
    };
    return new KubeClient(new Transport(connection, options), {
      fieldManager,
      deadlineSeconds: 15,
      log,
    });
  }
}

async function closeClient(target: Pick<CachedClient, 'client'> | undefined): Promise<void> {
  // A client whose creation failed needs no close.
  const client = await target?.client.catch(() => undefined);
  await client?.close();
}
