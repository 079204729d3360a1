import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import { expandRoles, hasAnyRole } from '../auth/roles.ts';
import type { ScramChallenge } from '../auth/scram.ts';
import type { NasUser } from '../nas-state.ts';
import type { TrueNasRelease } from '../versions.ts';
import type { CollectionEvent } from './collection-events.ts';

/** The user of a connection. */
export interface ClientIdentity {
  readonly user: NasUser;
  readonly roles: ReadonlySet<string>;
  readonly kind: 'API_KEY' | 'TOKEN';
}

/** A user as a logged-in identity. */
export function clientIdentityOf(version: TrueNasRelease, user: NasUser, kind: ClientIdentity['kind']): ClientIdentity {
  return { user, roles: expandRoles(version, user.roles), kind };
}

/** The role that a subscription needs, by collection. `core.get_jobs` needs none: users see their own jobs. */
const collectionRoles: Readonly<Record<string, readonly string[]>> = {
  'core.get_jobs': [],
  'interface.query': ['NETWORK_INTERFACE_READ'],
  'pool.dataset.query': ['DATASET_READ'],
  'pool.query': ['POOL_READ'],
  'vm.device.query': ['VM_DEVICE_READ'],
  'vm.query': ['VM_READ'],
};

/** One connection, or one upload: identity, options and subscriptions. All of it ends with the connection. */
export class ClientConnection {
  readonly address: string;
  /** Whether the login treats the connection as TLS. */
  readonly isSecure: boolean;
  readonly endpoint: string;
  identity: ClientIdentity | undefined;
  /** A SCRAM login between its two messages. */
  challenge: ScramChallenge | undefined;
  options = { legacy_jobs: true, private_methods: false, py_exceptions: false };
  readonly #socket: WebSocket | undefined;
  readonly #subscriptions = new Map<string, string>();

  constructor(peer: { address: string; isSecure: boolean; endpoint: string }, socket?: WebSocket) {
    this.address = peer.address;
    this.isSecure = peer.isSecure;
    this.endpoint = peer.endpoint;
    this.#socket = socket;
  }

  get isFullAdmin(): boolean {
    return this.identity?.roles.has('FULL_ADMIN') ?? false;
  }

  /** Whether `core.subscribe` is authorized. Unknown names need the full administrator role. */
  maySubscribe(collection: string): boolean {
    const roles = this.identity?.roles;
    if (!roles) return false;
    const wanted = collectionRoles[collection];
    return wanted?.length === 0 || hasAnyRole(roles, wanted ?? []);
  }

  /** The id of the subscription. */
  subscribe(collection: string): string {
    const id = randomUUID();
    this.#subscriptions.set(id, collection);
    return id;
  }

  unsubscribe(id: string): void {
    this.#subscriptions.delete(id);
  }

  /** Sends an event if the connection has subscribed to it and may see it. */
  hear({ collection, owner, ...event }: CollectionEvent): void {
    const wanted = [...this.#subscriptions.values()].some((name) => name === collection || name === '*');
    const isOwnersOnly = collection === 'core.get_jobs' && !this.isFullAdmin;
    if (!wanted || (isOwnersOnly && owner !== this.identity?.user.name)) return;
    this.send({ jsonrpc: '2.0', method: 'collection_update', params: { collection, ...event } });
  }

  send(message: unknown): void {
    if (this.#socket?.readyState === this.#socket?.OPEN) this.#socket?.send(JSON.stringify(message));
  }

  close(code: number, reason: string): void {
    this.#socket?.close(code, reason);
  }

  /** Ends the connection without a close handshake. */
  cut(): void {
    this.#socket?.terminate();
  }
}
