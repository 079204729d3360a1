import type { SecureClientSessionOptions } from 'node:http2';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient, type CallOptions as GrpcOptions } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { assertActive } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { withHttp2Authority } from '../../lib/net/http2-authority.ts';
import { toAuthority } from '../../lib/net/ip.ts';
import { type CallObserver, observeCall } from '../../lib/observers.ts';
import { toTalosError } from './errors.ts';
import { talosLimits } from './limits.ts';
import { NodeSession } from './node-session.ts';
import { type DataMethod, readData } from './read-data.ts';

/** The port of the Talos API, on every node and in every mode. */
export const talosPort = 50_000;

/** Talos' own limit for a received message. */
const maxSentMessageBytes = 32 * 1024 * 1024;

/** Options of one call. */
export interface TalosCallOptions {
  /** Aborts the call, in addition to the call's own deadline. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the deadline of an ordinary call. */
  readonly seconds?: number;
}

/** Returns the TLS settings for a node. Called before every call, so that certificates can be renewed in between. */
export type TlsProvider = () => Promise<TlsSettings>;
export type TlsSettings = SecureClientSessionOptions;

export interface TalosConnectionOptions {
  /** Deadline of an ordinary call. */
  readonly deadlineSeconds: number;
  readonly observer: CallObserver;
}

interface OpenSession {
  readonly tls: TlsSettings;
  readonly session: NodeSession;
}

/**
 * One HTTP/2 session to one node, opened by the first call and again after each loss. No keep-alive pings: Talos
 * answers more than one in five minutes with `too_many_pings`. The deadline of a call detects a session that has
 * stopped answering, and the connection discards it.
 */
export class TalosConnection {
  readonly address: string;
  readonly #url: string;
  readonly #tls: TlsProvider;
  readonly #deadlineSeconds: number;
  readonly #observer: CallObserver;
  #current: OpenSession | undefined;
  #closed = false;

  constructor(address: string, port: number, tls: TlsProvider, options: TalosConnectionOptions) {
    this.address = address;
    this.#url = `https://${toAuthority(address, port)}`;
    this.#tls = tls;
    this.#deadlineSeconds = options.deadlineSeconds;
    this.#observer = options.observer;
  }

  /** Makes one call. Every failure becomes a ProviderError. */
  async call<S extends DescService, T>(
    service: S,
    name: string,
    options: TalosCallOptions,
    run: (client: Client<S>, options: GrpcOptions) => Promise<T>,
  ): Promise<T> {
    return await this.#send(name, options, async ({ tls, session }, timeoutMs) => {
      const transport = createGrpcTransport({
        baseUrl: this.#url,
        sessionManager: session,
        nodeOptions: tls,
        readMaxBytes: talosLimits.messageBytes,
        writeMaxBytes: maxSentMessageBytes,
      });
      return await run(createClient(service, transport), {
        timeoutMs,
        ...(options.signal ? { signal: options.signal } : {}),
      });
    });
  }

  /** Makes one call whose reply is a stream of bytes, which `take` reads. */
  async callForData(
    method: DataMethod,
    options: TalosCallOptions,
    take: (batches: AsyncIterable<readonly Uint8Array[]>) => Promise<void>,
  ): Promise<void> {
    const { signal } = options;
    await this.#send(method.name, options, async ({ session }, timeoutMs) =>
      take(readData(method, { url: this.#url, session, timeoutMs, signal })),
    );
  }

  async #send<T>(
    name: string,
    options: TalosCallOptions,
    run: (session: OpenSession, timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    assertActive(options.signal);
    const about = { system: 'talos', name, signal: options.signal };
    return await observeCall(this.#observer, about, () => this.#attempt(name, options, run));
  }

  async #attempt<T>(
    name: string,
    options: TalosCallOptions,
    run: (session: OpenSession, timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    try {
      const opened = await this.#open();
      assertActive(options.signal);
      return await run(opened, (options.seconds ?? this.#deadlineSeconds) * 1000);
    } catch (error) {
      const known = toTalosError(error, this.address, name, options.signal);
      if (known instanceof ProviderError && known.code === 'TALOS_UNREACHABLE') this.#drop();
      throw known;
    }
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #open(): Promise<OpenSession> {
    const tls = await this.#tls();
    if (this.#closed) throw new ProviderError('TALOS_UNREACHABLE', `${this.address}: the connection was closed.`);
    if (this.#current?.tls === tls) return this.#current;
    this.#drop();
    this.#current = { tls, session: new NodeSession(this.#url, {}, withHttp2Authority(this.address, tls)) };
    return this.#current;
  }

  #drop(): void {
    this.#current?.session.abort();
    this.#current = undefined;
  }
}

/** Responses are lists because a call may address several nodes. The calls of this client address one. */
export function singleMessage<T>(messages: readonly T[], call: string): T {
  const [message] = messages;
  if (message === undefined) throw new ProviderError('TALOS_CALL_FAILED', `${call}: the answer is empty.`);
  return message;
}
