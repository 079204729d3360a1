import {
  type ApiServerConnection,
  type ApiServerConnectionParts,
  createApiServerConnection,
} from '../kube/transport/api-server-connection.ts';

/** A connection whose credentials can be replaced while it is in use, so that open watches go on. */
export class ReplaceableConnection implements ApiServerConnection {
  readonly namespace = undefined;
  readonly server: string;
  #parts: ApiServerConnectionParts;
  #current: ApiServerConnection;

  constructor(parts: ApiServerConnectionParts) {
    this.#parts = parts;
    this.#current = createApiServerConnection(parts);
    this.server = this.#current.server;
  }

  credentials(): ReturnType<ApiServerConnection['credentials']> {
    return this.#current.credentials();
  }

  invalidate(): void {
    this.#current.invalidate();
  }

  /** Whether these parts lead to the same server, and trust the same authority. */
  leadsTo({ server, ca, servername }: ApiServerConnectionParts): boolean {
    const { ca: ownCa, servername: ownName } = this.#parts;
    return createApiServerConnection({ server }).server === this.server && ca === ownCa && servername === ownName;
  }

  hasCredentialsOf({ token, cert, key }: ApiServerConnectionParts): boolean {
    const own = this.#parts;
    return token?.reveal() === own.token?.reveal() && cert === own.cert && key?.reveal() === own.key?.reveal();
  }

  /** With other credentials the TLS material changes, or only the header of the next request. */
  replaceCredentials(parts: ApiServerConnectionParts): void {
    const { ca, servername } = this.#parts;
    const isTokenAlone = parts.cert === this.#parts.cert && parts.key?.reveal() === this.#parts.key?.reveal();
    this.#parts = { ...parts, server: this.server, ...(ca && { ca }), ...(servername && { servername }) };
    const before = this.#current;
    const next = createApiServerConnection(this.#parts);
    // The same TLS material keeps the open connections.
    this.#current = isTokenAlone ? withTlsOf(before, next) : next;
  }
}

function withTlsOf(before: ApiServerConnection, next: ApiServerConnection): ApiServerConnection {
  return {
    ...next,
    credentials: async () => ({
      tls: (await before.credentials()).tls,
      headers: (await next.credentials()).headers,
    }),
  };
}
