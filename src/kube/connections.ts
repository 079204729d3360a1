import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { Client, type Dispatcher, Pool } from 'undici';
import { lookBeforeSending } from '../lib/sending.ts';
import type { TlsMaterial } from './connection.ts';

/** A connection that nobody uses is ended by us after so long: sooner than any server would. */
const idleMilliseconds = 15_000;

/** How to reach the server with certain certificates. */
interface Door {
  readonly fingerprint: string;
  readonly options: Client.Options;
  /** For calls; there is none while nobody calls. */
  pool?: { readonly pool: Pool; readonly dispatcher: Dispatcher } | undefined;
}

/**
 * The connections to one API server. Those for calls are replaced when the CA or the client certificate change; what runs on the
 * old ones may finish. Of a server that nobody calls nothing is kept, since there may be a thousand of them.
 */
export class Connections {
  readonly #origin: string;
  readonly #most: number | null;
  readonly #open = new Set<Client | Pool>();
  #door: Door | undefined;

  /** `most`: at the same time; null: as many as there are calls. */
  constructor(origin: string, most: number | null) {
    this.#origin = origin;
    this.#most = most;
  }

  /** For calls. */
  shared(tls: TlsMaterial): Dispatcher {
    const door = this.#doorFor(tls);
    door.pool ??= this.#openPool(door);
    return door.pool.dispatcher;
  }

  /** For one stream; whoever asked for it lets it go. */
  own(tls: TlsMaterial): Client {
    const client = new Client(this.#origin, { ...this.#doorFor(tls).options, maxCachedSessions: 0 });
    this.#open.add(client);
    return client;
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

  #doorFor(tls: TlsMaterial): Door {
    const fingerprint = fingerprintOf(tls);
    if (this.#door?.fingerprint === fingerprint) return this.#door;
    if (this.#door) this.#closePool(this.#door);
    this.#door = { fingerprint, options: optionsFor(tls) };
    return this.#door;
  }

  #openPool(door: Door): NonNullable<Door['pool']> {
    const pool = new Pool(this.#origin, { ...door.options, connections: this.#most });
    this.#open.add(pool);
    const onIdle = () => {
      const { connected, pending, queued, running } = pool.stats;
      if (connected + pending + queued + running === 0) this.#closePool(door);
    };
    pool.on('disconnect', onIdle);
    return { pool, dispatcher: pool.compose(lookBeforeSending) };
  }

  /** Whoever is in the middle of a call on it ends that. */
  #closePool(door: Door): void {
    const pool = door.pool?.pool;
    door.pool = undefined;
    if (!pool) return;
    const gone = () => this.#open.delete(pool);
    pool.close().then(gone, gone);
  }
}

const optionsFor = (tls: TlsMaterial): Client.Options => ({
  // The context is made once: to read certificates and key costs some 10 ms for each connection.
  connect: { ...tls, secureContext: createSecureContext(tls), timeout: 10_000 },
  // Deadlines are the signal's: undici's own timers would be a second opinion.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: idleMilliseconds,
  // A server may offer more: with a connection or two for each of a thousand clusters that is not for nothing.
  keepAliveMaxTimeout: idleMilliseconds,
});

/** The same object is the same material. */
const fingerprints = new WeakMap<TlsMaterial, string>();

function fingerprintOf(tls: TlsMaterial): string {
  const known = fingerprints.get(tls) ?? fingerprint(tls);
  fingerprints.set(tls, known);
  return known;
}

function fingerprint(tls: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)]) {
    hash.update(part ?? '').update('\0');
  }
  return hash.digest('base64');
}
