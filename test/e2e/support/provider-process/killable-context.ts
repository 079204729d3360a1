import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventEmitter, errorMonitor } from 'node:events';
import { Socket } from 'node:net';

const contexts = new AsyncLocalStorage<KillableContext>();

/**
 * Work in this process that can end as a process ends by `kill -9`. What comes out of it, however late, belongs to it: at
 * its death all its connections end at once, and it never gets another one. Its code runs on, but nobody hears of that.
 */
export class KillableContext {
  /** By how much its deadlines are shorter: timers of ten seconds and more. Waits of a `Clock` are none. */
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
    // One that is broken stays open where a peer refuses our certificate, and Node says that once more when it is closed.
    (socket as EventEmitter).once(errorMonitor, forget);
    return true;
  }
}

let patched = { connections: false, timers: false };

/** Everything that `run` opens goes through here: HTTP, HTTP/2 and WebSockets, with TLS and without. */
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
