import type { TalosClient } from '../../../talos/client/client.ts';

/**
 * The clients of one reconcile. Each node is connected to once, whatever asks it, because a handshake costs more processor
 * time than a call. Nothing is shared with other reconciles: those may cut off their calls at any time.
 */
export class NodeClients {
  readonly #connect: (address: string) => TalosClient;
  readonly #clients = new Map<string, TalosClient>();

  constructor(connect: (address: string) => TalosClient) {
    this.#connect = connect;
  }

  /** A client whose `close` leaves the connection open, for what is asked next. */
  open(address: string): TalosClient {
    const client = this.#clients.get(address) ?? this.#connect(address);
    this.#clients.set(address, client);
    return { ...client, close: async () => {} };
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.all(clients.map((client) => client.close()));
  }
}
