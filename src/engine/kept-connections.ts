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

/** The use of a connection, which others may use at the same time. */
export interface ConnectionUse<T> {
  readonly connection: T;
  /** The peer is about to close the connection: it is not shared any further. */
  discard(): void;
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
  users: number;
}

/**
 * Connections that stay open for some seconds after their last use: the handshake of TLS costs more processor time than
 * several calls. A connection must be able to reconnect by itself after its peer has closed it.
 */
export class KeptConnections<T extends Closable> {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** By group and address, in the order in which they became idle. */
  readonly #kept = new Map<string, Kept<T>>();
  readonly #over = new AbortController();
  #isClosing = false;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>) {
    this.#clock = clock;
  }

  use(request: ConnectionRequest, open: () => T): ConnectionUse<T> {
    const kept = this.#find(request) ?? this.#add(request, open());
    kept.users += 1;
    let isOver = false;
    return {
      connection: kept.connection,
      discard: () => this.#drop(kept),
      end: async () => {
        if (isOver) return;
        isOver = true;
        kept.users -= 1;
        if (kept.users === 0) await this.#release(kept);
      },
    };
  }

  get groups(): ReadonlySet<string> {
    return new Set([...this.#kept.values()].map(({ request }) => request.group));
  }

  /** Closes the connections of a group; those in use when their use ends. */
  async forget(group: string): Promise<void> {
    await this.#closeAll([...this.#kept.values()].filter(({ request }) => request.group === group));
  }

  /** From now on no connection is kept. */
  async close(): Promise<void> {
    this.#over.abort();
    await this.#closeAll([...this.#kept.values()]);
  }

  #find(request: ConnectionRequest): Kept<T> | undefined {
    const kept = this.#kept.get(keyOf(request));
    if (!kept) return undefined;
    const isRecent = this.#clock.monotonic() - kept.openedAt < usedSeconds * 1000;
    if (isRecent && kept.request.credentials === request.credentials) return kept;
    this.#drop(kept);
    if (kept.users === 0) void kept.connection.close();
    return undefined;
  }

  #add(request: ConnectionRequest, connection: T): Kept<T> {
    const kept = { request, connection, openedAt: this.#clock.monotonic(), idleSince: 0, users: 0 };
    this.#kept.set(keyOf(request), kept);
    return kept;
  }

  #isKept(kept: Kept<T>): boolean {
    return this.#kept.get(keyOf(kept.request)) === kept;
  }

  #drop(kept: Kept<T>): void {
    if (this.#isKept(kept)) this.#kept.delete(keyOf(kept.request));
  }

  async #release(kept: Kept<T>): Promise<void> {
    if (!this.#isKept(kept) || this.#over.signal.aborted) return await this.#closeAll([kept]);
    kept.idleSince = this.#clock.monotonic();
    this.#drop(kept);
    this.#kept.set(keyOf(kept.request), kept);
    const idle = this.#idle();
    await this.#closeAll(idle.slice(0, Math.max(0, idle.length - maxIdle)));
    void this.#closeIdle();
  }

  /** The longest idle first. */
  #idle(): Kept<T>[] {
    return [...this.#kept.values()].filter(({ users }) => users === 0);
  }

  /** Runs while connections are idle. */
  async #closeIdle(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    try {
      for (let [oldest] = this.#idle(); oldest; [oldest] = this.#idle()) {
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
    for (const kept of all) this.#drop(kept);
    await Promise.all(all.filter(({ users }) => users === 0).map(async ({ connection }) => connection.close()));
  }
}

const keyOf = ({ group, address }: ConnectionRequest): string => `${group} ${address}`;
