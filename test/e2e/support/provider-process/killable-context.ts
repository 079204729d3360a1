import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventEmitter, errorMonitor } from 'node:events';
import { Socket } from 'node:net';

const contexts = new AsyncLocalStorage<KillableContext>();

/**
 * Work in this process that can be killed like a process by `kill -9`. All asynchronous work that it starts, however
 * late, belongs to it: a kill closes all its connections at once, and every later connection fails. Its code runs on
 * without effect on other processes.
 */
export class KillableContext {
  /** The factor by which its deadlines are shorter: timers of ten seconds and more, without waits of a `Clock`. */
  readonly hasteOfDeadlines: number;
  readonly #sockets = new Set<Socket>();
  #isDead = false;

  constructor(hasteOfDeadlines = 1) {
    this.hasteOfDeadlines = hasteOfDeadlines;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  live<T>(work: () => T): T {
    patchSocketConnect();
    patchSetTimeout();
    return contexts.run(this, work);
  }

  die(): void {
    this.#isDead = true;
    for (const socket of this.#sockets) socket.destroy(killedError());
  }

  /** Whether the socket may connect. */
  adopt(socket: Socket): boolean {
    if (this.#isDead) return false;
    this.#sockets.add(socket);
    const forget = (): void => void this.#sockets.delete(socket);
    socket.once('close', forget);
    // A failed socket stays open when a peer rejects our certificate, and Node reports the error again when the socket
    // is closed.
    (socket as EventEmitter).once(errorMonitor, forget);
    return true;
  }
}

let patched = { connections: false, timers: false };

/** Every connection that `run` opens passes this function: HTTP, HTTP/2 and WebSockets, with TLS and without. */
function patchSocketConnect(): void {
  if (patched.connections) return;
  patched = { ...patched, connections: true };
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...words: unknown[]): Socket {
    const life = contexts.getStore();
    if (!life || life.adopt(this)) return Reflect.apply(connect, this, words) as Socket;
    process.nextTick(() => this.destroy(killedError()));
    return this;
  };
}

const killedError = (): Error => new Error('whoever wants this connection is dead');

const shortestDeadlineMs = 10_000;

function patchSetTimeout(): void {
  if (patched.timers) return;
  patched = { ...patched, timers: true };
  const later = globalThis.setTimeout;
  const hurried = (work: (...words: unknown[]) => void, ms = 0, ...words: unknown[]) => {
    const haste = ms >= shortestDeadlineMs ? (contexts.getStore()?.hasteOfDeadlines ?? 1) : 1;
    return later(work, ms / haste, ...words);
  };
  globalThis.setTimeout = Object.defineProperties(hurried, Object.getOwnPropertyDescriptors(later)) as typeof later;
}
