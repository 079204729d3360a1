import type { Clock } from '../lib/clock.ts';
import type { Closable } from './connection.ts';

/** Work on one system comes in passes that follow each other within seconds. */
const keptSeconds = 10;
/** Its address may belong to another peer meanwhile, which only a new connection shows. */
const usedSeconds = 60;
/** Maximum number of idle connections, of all systems together. */
const maxIdle = 64;

/** Which connection is wanted. */
export interface ConnectionRequest {
  /** Connections that are given up together, e.g. those of a cluster. */
  readonly group: string;
  readonly address: string;
  /** Identifies the credentials: a connection with others is not used. */
  readonly credentials: unknown;
}

/** The use of a connection, by one user at a time. */
export interface ConnectionUse<T> {
  readonly connection: T;
  /** Ends the use. The connection stays open for a while. */
  end(): Promise<void>;
}

interface Kept<T> {
  readonly request: ConnectionRequest;
  readonly connection: T;
  /** In monotonic milliseconds, as the next one. */
  readonly openedAt: number;
  /** Meaningless while it is in use. */
  idleSince: number;
  isDiscarded: boolean;
}

/**
 * Connections that stay open for some seconds after their use: the handshake of TLS costs more processor time than several
 * calls. A connection must be able to reconnect by itself after its peer has closed it.
 */
export class KeptConnections<T extends Closable> {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** The longest idle first. */
  readonly #idle = new Set<Kept<T>>();
  readonly #used = new Set<Kept<T>>();
  readonly #over = new AbortController();
  #isClosing = false;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>) {
    this.#clock = clock;
  }

  use(request: ConnectionRequest, open: () => T): ConnectionUse<T> {
    const kept = this.#take(request) ?? this.#open(request, open);
    this.#used.add(kept);
    return {
      connection: kept.connection,
      end: async () => {
        if (this.#used.delete(kept)) await this.#release(kept);
      },
    };
  }

  get groups(): ReadonlySet<string> {
    return new Set([...this.#idle, ...this.#used].map(({ request }) => request.group));
  }

  /** Closes the connections of a group; those in use when their use ends. */
  async forget(group: string): Promise<void> {
    for (const kept of this.#used) if (kept.request.group === group) kept.isDiscarded = true;
    await this.#closeAll([...this.#idle].filter(({ request }) => request.group === group));
  }

  /** From now on no connection is kept. */
  async close(): Promise<void> {
    this.#over.abort();
    await this.#closeAll([...this.#idle]);
  }

  #take({ group, address, credentials }: ConnectionRequest): Kept<T> | undefined {
    const same = [...this.#idle].filter(({ request }) => request.group === group && request.address === address);
    const isUsable = ({ request, openedAt }: Kept<T>): boolean =>
      request.credentials === credentials && this.#clock.monotonic() - openedAt < usedSeconds * 1000;
    const kept = same.find(isUsable);
    if (kept) this.#idle.delete(kept);
    void this.#closeAll(same.filter((one) => !isUsable(one)));
    return kept;
  }

  #open(request: ConnectionRequest, open: () => T): Kept<T> {
    return { request, connection: open(), openedAt: this.#clock.monotonic(), idleSince: 0, isDiscarded: false };
  }

  async #release(kept: Kept<T>): Promise<void> {
    if (kept.isDiscarded || this.#over.signal.aborted) return void (await kept.connection.close());
    kept.idleSince = this.#clock.monotonic();
    this.#idle.add(kept);
    await this.#closeAll([...this.#idle].slice(0, Math.max(0, this.#idle.size - maxIdle)));
    void this.#closeIdle();
  }

  /** Runs while connections are idle. */
  async #closeIdle(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    try {
      for (let [oldest] = this.#idle; oldest; [oldest] = this.#idle) {
        const age = this.#clock.monotonic() - oldest.idleSince;
        if (age >= keptSeconds * 1000) await this.#closeAll([oldest]);
        else await this.#clock.sleep(keptSeconds * 1000 - age, this.#over.signal);
      }
    } catch {
      // The process ends, and all connections are closed.
    } finally {
      this.#isClosing = false;
    }
  }

  async #closeAll(all: readonly Kept<T>[]): Promise<void> {
    for (const kept of all) this.#idle.delete(kept);
    await Promise.all(all.map(async ({ connection }) => connection.close()));
  }
}
