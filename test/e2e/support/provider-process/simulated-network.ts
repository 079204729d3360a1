import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket, type TcpSocketConnectOpts } from 'node:net';

/**
 * What the network does to bytes. `silent`: nothing arrives in either direction, as behind a dead router. `deaf`: requests
 * arrive, answers are lost. `refused`: the other machine is there and nobody listens.
 */
export type NetworkFault = 'silent' | 'deaf' | 'refused';

/** One attempt to connect. */
export interface ConnectionAttempt {
  /** `host:port`. */
  readonly to: string;
  /** Monotonic, in milliseconds. */
  readonly at: number;
}

/** A connection on its way through the gateway: the half of the process, and the half of the server. */
interface ProxiedConnection {
  readonly to: string;
  readonly near: Socket;
  readonly far: Socket;
  /** Whoever opened it has closed it. */
  isAbandoned: boolean;
}

const networks = new AsyncLocalStorage<SimulatedNetwork>();

/**
 * The network as one process of the provider sees it, for one that runs in this process: whatever `within` connects to, now
 * or later, is reached from an address of its own, which servers see, and through here, where it can be cut.
 */
export class SimulatedNetwork {
  /** Loopback, and nobody else's. */
  readonly address: string;
  readonly attempts: ConnectionAttempt[] = [];
  readonly #gateway: Server;
  readonly #links = new Set<ProxiedConnection>();
  readonly #cuts: { readonly to: RegExp; readonly trouble: NetworkFault }[] = [];
  /** Connections on their way to the gateway, by the port that they come from. */
  readonly #coming = new Map<number, { readonly socket: Socket; readonly wanted: TcpSocketConnectOpts }>();
  #lastPort = 20_000;
  #mostOpen = new Map<string, number>();

  private constructor(address: string, gateway: Server) {
    this.address = address;
    this.#gateway = gateway;
    gateway.on('connection', (socket: Socket) => this.#lead(socket));
  }

  static async open(address: string): Promise<SimulatedNetwork> {
    patchSocketConnect();
    const gateway = createServer();
    gateway.listen(0, address);
    await once(gateway, 'listening');
    return new SimulatedNetwork(address, gateway);
  }

  within<T>(work: () => T): T {
    return networks.run(this, work);
  }

  /** Attempts to connect to somebody since a moment. */
  attemptsAt(to: RegExp, since: number): number {
    return this.attempts.filter((attempt) => attempt.at >= since && to.test(attempt.to)).length;
  }

  /** Connections to somebody that were open at the same time, at most, since this was last forgotten. */
  mostOpenAt(to: RegExp): number {
    return Math.max(0, ...[...this.#mostOpen].filter(([name]) => to.test(name)).map(([, most]) => most));
  }

  forgetMostOpen(): void {
    this.#mostOpen = new Map();
  }

  /** From now on. Connections that are open suffer as well; with `onlyOpen` they alone, for ever. */
  cut(trouble: NetworkFault, { to = /./, onlyOpen = false }: { to?: RegExp; onlyOpen?: boolean } = {}): void {
    if (!onlyOpen) this.#cuts.push({ to, trouble });
    for (const link of this.#links) if (to.test(link.to)) applyFault(link, trouble);
  }

  /**
   * What was held up goes on. What was sent by somebody who has given up since does not arrive any more; with `stale` it
   * does, as when the kernel of the sender still has it.
   */
  heal({ stale = false } = {}): void {
    this.#cuts.length = 0;
    for (const link of this.#links) {
      if (!link.isAbandoned || stale) applyFault(link, undefined);
      else closeConnection(link);
    }
  }

  async close(): Promise<void> {
    this.#gateway.close();
    for (const link of this.#links) closeConnection(link);
    await once(this.#gateway, 'close');
  }

  /** Turns the way of a new connection towards the gateway. */
  redirect(socket: Socket, { host = 'localhost', port, ...options }: TcpSocketConnectOpts): TcpSocketConnectOpts {
    this.#lastPort = this.#lastPort < 60_000 ? this.#lastPort + 1 : 20_001;
    this.#coming.set(this.#lastPort, { socket, wanted: { host, port } });
    this.attempts.push({ to: `${host}:${port}`, at: performance.now() });
    const { address, port: gatewayPort } = this.#gateway.address() as AddressInfo;
    return { ...options, host: address, port: gatewayPort, localAddress: this.address, localPort: this.#lastPort };
  }

  #lead(near: Socket): void {
    const coming = this.#coming.get(near.remotePort ?? 0);
    if (!coming) return void near.destroy();
    this.#coming.delete(near.remotePort ?? 0);
    const { host, port } = coming.wanted;
    const link: ProxiedConnection = {
      to: `${host}:${port}`,
      near,
      far: new Socket(),
      isAbandoned: coming.socket.destroyed,
    };
    this.#links.add(link);
    const open = [...this.#links].filter(({ to }) => to === link.to).length;
    this.#mostOpen.set(link.to, Math.max(this.#mostOpen.get(link.to) ?? 0, open));
    coming.socket.once('close', () => {
      link.isAbandoned = true;
    });
    for (const half of [link.near, link.far]) {
      half.on('error', () => {});
      half.once('close', () => {
        closeConnection(link);
        this.#links.delete(link);
      });
    }
    const trouble = this.#cuts.findLast(({ to }) => to.test(link.to))?.trouble;
    if (trouble !== 'refused') link.far.connect({ host, port, localAddress: this.address });
    applyFault(link, trouble);
  }
}

function applyFault({ near, far }: ProxiedConnection, trouble: NetworkFault | undefined): void {
  near.unpipe(far);
  far.unpipe(near);
  if (trouble === 'refused') {
    near.resetAndDestroy();
    far.destroy();
  }
  if (trouble === undefined || trouble === 'deaf') near.pipe(far);
  if (trouble === undefined) far.pipe(near);
}

function closeConnection({ near, far }: ProxiedConnection): void {
  near.destroy();
  far.destroy();
}

let isPatched = false;

/** Everything that connects goes through here: HTTP, HTTP/2 and WebSockets, with TLS and without. */
function patchSocketConnect(): void {
  if (isPatched) return;
  isPatched = true;
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...words: unknown[]): Socket {
    const network = networks.getStore();
    // `net.connect` hands over what it has already sorted: the options, and whom to tell.
    const [first, ...others] = Array.isArray(words[0]) ? words[0] : words;
    if (!network || typeof first?.port === 'undefined') return Reflect.apply(connect, this, words) as Socket;
    const listeners = others.filter((word) => typeof word === 'function');
    return Reflect.apply(connect, this, [network.redirect(this, first), ...listeners]) as Socket;
  };
}
