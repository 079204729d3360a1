import {
  belongsToCluster,
  type ClusterIdentity,
  clusterIdentityKey,
  filterClusterIdentityKeys,
} from '../../api/cluster-identity.ts';
import { clusterSecretsName } from '../../api/names.ts';
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
import { issueAdminCertificate } from '../../talos/secrets/kubernetes-client-certificate.ts';
import { type SecretsBundle, trustedCertificates } from '../../talos/secrets/secrets-bundle.ts';
import {
  clientCertificateLifetimeSeconds,
  createTalosCredentials,
  isCertificateFresh,
  type TalosCredentials,
} from '../../talos/secrets/talos-credentials.ts';
import { encodedAuthoritiesOf, readClusterSecrets } from './secrets/cluster-secrets.ts';

/** Pause between attempts to reach an unresponsive cluster. One caller tries, and the others fail fast. */
const unreachablePauseSeconds = 2;

interface CachedClient {
  readonly client: Promise<KubeClient>;
  /** The inputs of the client: another endpoint or bundle needs another client. */
  readonly endpoint: string;
  readonly bundle: string;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
}

interface CachedCredentials {
  /** The bundle that they were derived from. */
  readonly from: string;
  readonly credentials: TalosCredentials;
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
  readonly #keys = new Map<string, CachedCredentials>();

  constructor(options: TargetClientsOptions) {
    this.#options = options;
  }

  /** The shared client of the API server at `endpoint`. Throws without secrets. */
  async client(cluster: ClusterIdentity, endpoint: string): Promise<KubeClient> {
    const object = this.#secretOf(cluster);
    const id = clusterIdentityKey(cluster);
    const bundle = encodedAuthoritiesOf(object);
    const now = this.#options.clock.now();
    const known = this.#open.get(id);
    const isSame = known?.endpoint === endpoint && known.bundle === bundle;
    if (isSame && isCertificateFresh(known.issuedAt, now.getTime())) return await known.client;
    const client = this.#connect(endpoint, readClusterSecrets(object).bundle, now);
    const target: CachedClient = { client, endpoint, bundle, issuedAt: now.getTime() };
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

  /** A client of the API server of one control plane, at the node's own address. The caller closes it. */
  async nodeClient(cluster: ClusterIdentity, server: string): Promise<KubeClient> {
    return await this.nodeClientWith(readClusterSecrets(this.#secretOf(cluster)).bundle, server);
  }

  /** The same with these authorities. */
  async nodeClientWith(bundle: SecretsBundle, server: string): Promise<KubeClient> {
    return await this.#connect(server, bundle, this.#options.clock.now());
  }

  /** A Talos client of one node. The caller closes it. */
  talos(cluster: ClusterIdentity, address: string): TalosClient {
    return this.#openTalos(address, this.#credentialsOf(cluster));
  }

  /** The same with these authorities. */
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
    const { ca } = this.#credentialsOf(cluster);
    return openMaintenanceClient({ address, ca, signal, ...(observer && { observer }) });
  }

  /** Closes the clients of a deleted cluster; without a UID those of all clusters of that name. */
  async forget(cluster: Parameters<typeof filterClusterIdentityKeys>[1]): Promise<void> {
    const known = new Set([...this.#open.keys(), ...this.#retired.keys(), ...this.#keys.keys()]);
    for (const id of filterClusterIdentityKeys(known, cluster)) {
      const targets = [this.#open.get(id), this.#retired.get(id)];
      this.#open.delete(id);
      this.#retired.delete(id);
      this.#keys.delete(id);
      await Promise.all(targets.map(closeClient));
    }
  }

  async close(): Promise<void> {
    const targets = [...this.#open.values(), ...this.#retired.values()];
    this.#open.clear();
    this.#retired.clear();
    await Promise.all(targets.map(closeClient));
  }

  #credentialsOf(cluster: ClusterIdentity): TalosCredentials {
    const object = this.#secretOf(cluster);
    const id = clusterIdentityKey(cluster);
    const known = this.#keys.get(id);
    if (known?.from === encodedAuthoritiesOf(object)) return known.credentials;
    const credentials = createTalosCredentials(readClusterSecrets(object).bundle, this.#options.clock);
    this.#keys.set(id, { from: encodedAuthoritiesOf(object), credentials });
    return credentials;
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

  async #connect(server: string, bundle: SecretsBundle, now: Date): Promise<KubeClient> {
    const { certificate: cert, key } = await issueAdminCertificate(bundle, {
      lifetimeSeconds: clientCertificateLifetimeSeconds,
      now,
    });
    const ca = trustedCertificates(bundle, 'kubernetes');
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

async function closeClient(target: CachedClient | undefined): Promise<void> {
  // A client whose creation failed needs no close.
  const client = await target?.client.catch(() => undefined);
  await client?.close();
}
