import { type Client, DecoratorHandler, type Dispatcher } from 'undici';
import { systemCodeOf } from '../../lib/net/http.ts';

type Handler = Dispatcher.DispatchHandler;
type RequestStart = NonNullable<Handler['onRequestStart']>;
type ResponseStart = NonNullable<Handler['onResponseStart']>;
type ResponseError = NonNullable<Handler['onResponseError']>;

/** What a connection dies of that stood before: the other end has forgotten it, closed it, or is gone. */
const connectionLossCodes: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETRESET'],
  'UND_ERR_SOCKET',
]);

/** The clients whose connection has carried an answer. undici connects anew by the same client when one is lost. */
const reusedClients = new WeakSet<Client>();

/**
 * Sends a GET once more, on a new connection, when the one that it was sent on had carried answers before and breaks before it
 * answers: when an address changes hands, who has it now resets the connections to its former holder, which says nothing about
 * the server. As Go's `http.Transport` does; what changes something is not repeated, since it may have been done.
 */
export class RetryGetHandler extends DecoratorHandler {
  readonly #client: Client;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Handler;
  #mayRepeat: boolean;
  /** It went out on a connection that stood. What fails before that failed to connect anew, and undici takes no request meanwhile. */
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

  onRequestStart(...words: Parameters<RequestStart>): void {
    this.#isSent = true;
    (DecoratorHandler.prototype as Handler).onRequestStart?.apply(this, words);
  }

  onResponseStart(...words: Parameters<ResponseStart>): void {
    this.#mayRepeat = false;
    reusedClients.add(this.#client);
    (DecoratorHandler.prototype as Handler).onResponseStart?.apply(this, words);
  }

  onResponseError(...words: Parameters<ResponseError>): void {
    const [, error] = words;
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
    (DecoratorHandler.prototype as Handler).onResponseError?.apply(this, words);
  }
}
