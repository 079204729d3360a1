import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { buildConnector, Client, Dispatcher } from 'undici';
import { expiryCheckInterceptor } from '../../lib/net/expiry-check-interceptor.ts';
import type { TlsMaterial } from './api-server-connection.ts';
import { RetryGetHandler } from './retry-get-handler.ts';

/** The client closes an idle connection after this time: earlier than any server does. */
const idleTimeoutMs = 15_000;

/**
 * The connections to one API server. A change of the CA or the client certificate opens new connections; calls on the
 * former ones may complete. The pool keeps no connection to an idle server, since there may be a thousand servers.
 */
export class KubeConnectionPool {
  readonly #origin: string;
  readonly #maxConnections: number;
  readonly #open = new Set<Client>();
  #pools: { readonly fingerprint: string; readonly pools: PoolDispatcher; readonly dispatcher: Dispatcher } | undefined;

  /** `max`: the maximum number of connections for concurrent calls; default: one for each call. */
  constructor(origin: string, max = Number.POSITIVE_INFINITY) {
    this.#origin = origin;
    this.#maxConnections = max;
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** The dispatcher for calls. */
  shared(tls: TlsMaterial): Dispatcher {
    return this.#poolsFor(tls).dispatcher;
  }

  /** A connection for one stream, taken from an earlier call if one is free. The caller releases it. */
  own(tls: TlsMaterial): Client {
    return this.#poolsFor(tls).pools.take();
  }

  /** Sends a request on the connection of a stream. */
  dispatch(client: Client, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    client.dispatch(options, RetryGetHandler.around(client, options, handler));
  }

  /** Closes the connection of a stream, which ends an active stream. */
  async release(client: Client): Promise<void> {
    this.#open.delete(client);
    await client.destroy();
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((one) => one.destroy()));
  }

  #poolsFor(tls: TlsMaterial) {
    const fingerprint = cachedFingerprint(tls);
    if (this.#pools?.fingerprint === fingerprint) return this.#pools;
    const options = toClientOptions(tls);
    const pools = new PoolDispatcher(() => new Client(this.#origin, options), this.#maxConnections, this.#open);
    this.#pools = { fingerprint, pools, dispatcher: pools.compose(expiryCheckInterceptor) };
    return this.#pools;
  }
}

/** Gives each call a free connection and removes closed ones. undici's own pool uses 18 kB while idle. */
class PoolDispatcher extends Dispatcher {
  readonly #connect: () => Client;
  readonly #maxConnections: number;
  readonly #clients = new Set<Client>();
  readonly #open: Set<Client>;

  /** `open`: the set of all connections that are not closed. */
  constructor(connect: () => Client, max: number, open: Set<Client>) {
    super();
    this.#connect = connect;
    this.#maxConnections = max;
    this.#open = open;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const client = this.#free() ?? this.#leastBusy() ?? this.#openConnection();
    return client.dispatch(options, RetryGetHandler.around(client, options, handler));
  }

  /** Takes a connection out of the pool, so that no call gets it. */
  take(): Client {
    const client = this.#free() ?? this.#openConnection();
    this.#clients.delete(client);
    return client;
  }

  #free(): Client | undefined {
    for (const client of this.#clients) if (client.stats.size === 0) return client;
    return undefined;
  }

  /** Undefined while the pool may open another connection. */
  #leastBusy(): Client | undefined {
    if (this.#clients.size < this.#maxConnections) return undefined;
    return [...this.#clients].reduce((least, client) => (client.stats.size < least.stats.size ? client : least));
  }

  #openConnection(): Client {
    const client = this.#connect();
    this.#clients.add(client);
    this.#open.add(client);
    const ended = () => {
      if (client.stats.size > 0 || !this.#clients.delete(client)) return;
      this.#open.delete(client);
      void client.destroy();
    };
    client.on('disconnect', ended).on('connectionError', ended);
    return client;
  }
}

const toClientOptions = (tls: TlsMaterial): Client.Options => ({
  // Created once: reading the certificates and the key takes some 10 ms for each connection.
  connect: buildConnector({ ...tls, secureContext: createSecureContext(tls), timeout: 10_000 }),
  // The signal sets the deadlines: undici's own timers would be redundant.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: idleTimeoutMs,
  // Limits the keep-alive time that a server offers: a thousand clusters would keep one or two connections each.
  keepAliveMaxTimeout: idleTimeoutMs,
});

/** Cached by identity: the same object has the same content. */
const fingerprintCache = new WeakMap<TlsMaterial, string>();

function cachedFingerprint(tls: TlsMaterial): string {
  const known = fingerprintCache.get(tls) ?? computeFingerprint(tls);
  fingerprintCache.set(tls, known);
  return known;
}

function computeFingerprint(tls: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)]) {
    hash.update(part ?? '').update('\0');
  }
  return hash.digest('base64');
}
