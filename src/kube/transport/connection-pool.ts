import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { buildConnector, Client, Dispatcher } from 'undici';
import { expiryCheckInterceptor } from '../../lib/net/expiry-check-interceptor.ts';
import type { TlsMaterial } from './api-server-connection.ts';
import { RetryGetHandler } from './retry-get-handler.ts';

/** A connection that nobody uses is ended by us after so long: sooner than any server would. */
const idleTimeoutMs = 15_000;

/**
 * The connections to one API server. They are others when the CA or the client certificate change; what runs on the former ones
 * may finish. Of a server that nobody calls nothing is kept, since there may be a thousand of them.
 */
export class KubeConnectionPool {
  readonly #origin: string;
  readonly #most: number;
  readonly #open = new Set<Client>();
  #lanes: { readonly fingerprint: string; readonly lanes: PoolDispatcher; readonly dispatcher: Dispatcher } | undefined;

  /** `most`: so many for calls at the same time; default: as many as there are calls. */
  constructor(origin: string, most = Number.POSITIVE_INFINITY) {
    this.#origin = origin;
    this.#most = most;
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size;
  }

  /** For calls. */
  shared(tls: TlsMaterial): Dispatcher {
    return this.#lanesFor(tls).dispatcher;
  }

  /** For one stream, that of an earlier call if there is one; whoever takes it releases it. */
  own(tls: TlsMaterial): Client {
    return this.#lanesFor(tls).lanes.take();
  }

  /** Sends a request by a connection that is a stream's own. */
  dispatch(client: Client, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    client.dispatch(options, RetryGetHandler.around(client, options, handler));
  }

  /** Ends a stream's connection, and the stream with it if it is not over. */
  async release(client: Client): Promise<void> {
    this.#open.delete(client);
    await client.destroy();
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((one) => one.destroy()));
  }

  #lanesFor(tls: TlsMaterial) {
    const fingerprint = cachedFingerprint(tls);
    if (this.#lanes?.fingerprint === fingerprint) return this.#lanes;
    const options = toClientOptions(tls);
    const lanes = new PoolDispatcher(() => new Client(this.#origin, options), this.#most, this.#open);
    this.#lanes = { fingerprint, lanes, dispatcher: lanes.compose(expiryCheckInterceptor) };
    return this.#lanes;
  }
}

/** Gives each call a connection that is free, and forgets those that have ended. undici's own pool keeps 18 kB at rest. */
class PoolDispatcher extends Dispatcher {
  readonly #connect: () => Client;
  readonly #most: number;
  readonly #clients = new Set<Client>();
  readonly #open: Set<Client>;

  /** `open`: where those that have not ended are noted. */
  constructor(connect: () => Client, most: number, open: Set<Client>) {
    super();
    this.#connect = connect;
    this.#most = most;
    this.#open = open;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const client = this.#free() ?? this.#leastBusy() ?? this.#another();
    return client.dispatch(options, RetryGetHandler.around(client, options, handler));
  }

  /** One that no call gets any more. */
  take(): Client {
    const client = this.#free() ?? this.#another();
    this.#clients.delete(client);
    return client;
  }

  #free(): Client | undefined {
    for (const client of this.#clients) if (client.stats.size === 0) return client;
    return undefined;
  }

  /** Undefined while there may be more of them. */
  #leastBusy(): Client | undefined {
    if (this.#clients.size < this.#most) return undefined;
    return [...this.#clients].reduce((least, client) => (client.stats.size < least.stats.size ? client : least));
  }

  #another(): Client {
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
  // The context is made once: to read certificates and key costs some 10 ms for each connection.
  connect: buildConnector({ ...tls, secureContext: createSecureContext(tls), timeout: 10_000 }),
  // Deadlines are the signal's: undici's own timers would be a second opinion.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: idleTimeoutMs,
  // A server may offer more: with a connection or two for each of a thousand clusters that is not for nothing.
  keepAliveMaxTimeout: idleTimeoutMs,
});

/** The same object is the same material. */
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
