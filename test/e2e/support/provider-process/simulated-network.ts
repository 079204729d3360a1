import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket, type TcpSocketConnectOpts } from 'node:net';

/**
 * How the network treats bytes. `silent`: nothing arrives in either direction, as behind a dead router. `deaf`:
 * requests arrive, answers are lost. `refused`: the other machine is up and its port is closed.
 */
export type NetworkFault = 'silent' | 'deaf' | 'refused';

/** One attempt to connect. */
export interface ConnectionAttempt {
  /** `host:port`. */
  readonly to: string;
  /** Monotonic, in milliseconds. */
  readonly at: number;
}

/** A connection through the gateway: the process's half, and the server's half. */
interface ProxiedConnection {
  readonly to: string;
  readonly near: Socket;
  readonly far: Socket;
  /** Whether the process has closed it. */
  isAbandoned: boolean;
}

const networks = new AsyncLocalStorage<SimulatedNetwork>();

/**
 * The network as one provider in this process sees it. Every connection that `within` opens, now or later, has a source
 * address of its own, which servers see, and passes this gateway, which can be cut.
 */
export class SimulatedNetwork {
  /** A loopback address, unique. */
  readonly address: string;
  readonly attempts: ConnectionAttempt[] = [];
  readonly #gateway: Server;
  readonly #links = new Set<ProxiedConnection>();
  readonly #cuts: { readonly to: RegExp; readonly trouble: NetworkFault }[] = [];
  /** Connections on their way to the gateway, by source port. */
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

  /** Attempts to connect to a server since a point in time. */
  attemptsAt(to: RegExp, since: number): number {
    return this.attempts.filter((attempt) => attempt.at >= since && to.test(attempt.to)).length;
  }

  /** The maximum of simultaneous connections to a server since the last reset. */
  mostOpenAt(to: RegExp): number {
    return Math.max(0, ...[...this.#mostOpen].filter(([name]) => to.test(name)).map(([, max]) => max));
  }

  forgetMostOpen(): void {
    this.#mostOpen = new Map();
  }

  /** Cuts the network from now on. Open connections are affected as well; with `onlyOpen` only those, permanently. */
  cut(problem: NetworkFault, { to = /./, onlyOpen = false }: { to?: RegExp; onlyOpen?: boolean } = {}): void {
    if (!onlyOpen) this.#cuts.push({ to, trouble: problem });
    for (const link of this.#links) if (to.test(link.to)) applyFault(link, problem);
  }

  /**
   * Delivers delayed data. Data of a sender that has closed its connection since is dropped; with `stale` it arrives,
   * as when the kernel of the sender still retransmits it.
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

  /** Redirects a new connection to the gateway. */
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
    const problem = this.#cuts.findLast(({ to }) => to.test(link.to))?.trouble;
    if (problem !== 'refused') link.far.connect({ host, port, localAddress: this.address });
    applyFault(link, problem);
  }
}

function applyFault({ near, far }: ProxiedConnection, problem: NetworkFault | undefined): void {
  near.unpipe(far);
  far.unpipe(near);
  if (problem === 'refused') {
    near.resetAndDestroy();
    far.destroy();
  }
  if (problem === undefined || problem === 'deaf') near.pipe(far);
  if (problem === undefined) far.pipe(near);
}

function closeConnection({ near, far }: ProxiedConnection): void {
  near.destroy();
  far.destroy();
}

let isPatched = false;

/** Every connection passes this function: HTTP, HTTP/2 and WebSockets, with TLS and without. */
function patchSocketConnect(): void {
  if (isPatched) return;
  isPatched = true;
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...words: unknown[]): Socket {
    const network = networks.getStore();
    // `net.connect` passes normalized arguments: the options and the callback.
    const [first, ...others] = Array.isArray(words[0]) ? words[0] : words;
    if (!network || typeof first?.port === 'undefined') return Reflect.apply(connect, this, words) as Socket;
    const listeners = others.filter((word) => typeof word === 'function');
    return Reflect.apply(connect, this, [network.redirect(this, first), ...listeners]) as Socket;
  };
}
