import { type Client, DecoratorHandler, type Dispatcher } from 'undici';
import { systemCodeOf } from '../../lib/net/http.ts';

type Handler = Dispatcher.DispatchHandler;
type RequestStart = NonNullable<Handler['onRequestStart']>;
type ResponseStart = NonNullable<Handler['onResponseStart']>;
type ResponseError = NonNullable<Handler['onResponseError']>;

/** Errors of an established connection that the other end has forgotten or closed, or whose other end is gone. */
const connectionLossCodes: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETRESET'],
  'UND_ERR_SOCKET',
]);

/** Clients whose connection has carried a response. undici reconnects with the same client after a lost connection. */
const reusedClients = new WeakSet<Client>();

/**
 * Repeats a GET once on a new connection when a reused connection breaks before the response. When an address moves,
 * its new holder resets the connections of the former one, which reveals nothing about the server. Go's
 * `http.Transport` does the same. A request that changes something is not repeated, since the server may have carried
 * it out.
 */
export class RetryGetHandler extends DecoratorHandler {
  readonly #client: Client;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Handler;
  #mayRepeat: boolean;
  /**
   * Whether the request went out on an established connection. An error before that is a failed reconnect, during which
   * undici accepts no request.
   */
  #isSent = false;

  private constructor(client: Client, options: Dispatcher.DispatchOptions, handler: Handler) {
    super(handler);
    this.#client = client;
    this.#options = options;
    this.#handler = handler;
    this.#mayRepeat = options.method === 'GET' && reusedClients.has(client);
  }

  static around(client: Client, options: Dispatcher.DispatchOptions, handler: Handler): Handler {
    return new RetryGetHandler(client, options, handler);
  }

  onRequestStart(...args: Parameters<RequestStart>): void {
    this.#isSent = true;
    (DecoratorHandler.prototype as Handler).onRequestStart?.apply(this, args);
  }

  onResponseStart(...args: Parameters<ResponseStart>): void {
    this.#mayRepeat = false;
    reusedClients.add(this.#client);
    (DecoratorHandler.prototype as Handler).onResponseStart?.apply(this, args);
  }

  onResponseError(...args: Parameters<ResponseError>): void {
    const [, error] = args;
    const code = systemCodeOf(error);
    if (
      this.#mayRepeat &&
      this.#isSent &&
      code !== undefined &&
      connectionLossCodes.has(code) &&
      !this.#client.destroyed
    ) {
      this.#mayRepeat = false;
      reusedClients.delete(this.#client);
      this.#client.dispatch(this.#options, new RetryGetHandler(this.#client, this.#options, this.#handler));
      return;
    }
    (DecoratorHandler.prototype as Handler).onResponseError?.apply(this, args);
  }
}
