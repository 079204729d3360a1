import { DecoratorHandler, type Dispatcher } from 'undici';
import { assertActive } from '../deadline.ts';

type Handler = Dispatcher.DispatchHandler;
type RequestStart = NonNullable<Handler['onRequestStart']>;

/**
 * Makes a dispatcher check the signal of a request that changes something right before it is written: the request may
 * have waited for its connection until long after the signal's deadline (see `addExpiryCheck` in deadline.ts).
 */
export const expiryCheckInterceptor: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { signal } = options as { readonly signal?: AbortSignal | null };
  const isChange = options.method !== 'GET' && options.method !== 'HEAD';
  return dispatch(options, signal && isChange ? new ExpiryCheckHandler(handler, signal) : handler);
};

class ExpiryCheckHandler extends DecoratorHandler {
  readonly #signal: AbortSignal;

  constructor(handler: Handler, signal: AbortSignal) {
    super(handler);
    this.#signal = signal;
  }

  onRequestStart(...args: Parameters<RequestStart>): void {
    assertActive(this.#signal);
    (DecoratorHandler.prototype as Handler).onRequestStart?.apply(this, args);
  }
}
