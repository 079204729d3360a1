import type { Closable } from '../../engine/platform.ts';
import { type CallObserver, noopCallObserver } from '../../lib/observers.ts';
import { toLoadableKey } from '../secrets/pem.ts';
import type { TalosCredentials } from '../secrets/talos-credentials.ts';
import { TalosConnection, type TlsProvider, type TlsSettings, talosPort } from './connection.ts';
import { createEtcdClient, type EtcdClient } from './etcd-calls.ts';
import {
  createNodeConfigCalls,
  createNodeLifecycleCalls,
  createNodeReadCalls,
  type NodeConfigCalls,
  type NodeLifecycleCalls,
  type NodeReadCalls,
} from './node-calls.ts';

/** What a node offers in every mode. */
export interface NodeClient extends Closable, NodeReadCalls, NodeConfigCalls {
  readonly address: string;
}

/**
 * One node of a cluster. Each method is one call to this very node, under a deadline, and throws a ProviderError:
 * TALOS_UNREACHABLE, TALOS_FOREIGN_NODE (also for a node in maintenance mode), TALOS_NOT_READY,
 * TALOS_PERMISSION_DENIED and what the method itself names.
 */
export interface TalosClient extends NodeClient, EtcdClient, NodeLifecycleCalls {}

export interface TalosClientOptions {
  /** An address of the node, or a name out of its `machine.certSANs`. Never the endpoint of the cluster. */
  readonly address: string;
  readonly port?: number;
  /** For an ordinary call. Default: 15. */
  readonly deadlineSeconds?: number;
  readonly observer?: CallObserver;
}

/** Opens a client of a configured node. It connects with the first call; `close` ends what is still going on. */
export function openTalosClient(options: TalosClientOptions & { readonly credentials: TalosCredentials }): TalosClient {
  const { credentials } = options;
  let made: { readonly certificate: string; readonly tls: TlsSettings } | undefined;
  const connection = createConnection(options, async () => {
    const pair = await credentials.client();
    if (made?.certificate !== pair.certificate) {
      const tls = { ca: credentials.ca, cert: pair.certificate, key: toLoadableKey(pair.key).reveal() };
      made = { certificate: pair.certificate, tls };
    }
    return made.tls;
  });
  return {
    address: options.address,
    ...createNodeReadCalls(connection),
    ...createNodeConfigCalls(connection),
    ...createNodeLifecycleCalls(connection),
    ...createEtcdClient(connection),
    close: () => connection.close(),
  };
}

/**
 * Opens a client of a node in maintenance mode. Its certificate is its own and made anew while it runs, so nothing is
 * verified: only send a configuration where nobody else can answer under the address.
 */
export function openInsecureClient(options: TalosClientOptions): NodeClient {
  const tls = { rejectUnauthorized: false };
  const connection = createConnection(options, async () => tls);
  return {
    address: options.address,
    ...createNodeReadCalls(connection),
    ...createNodeConfigCalls(connection),
    close: () => connection.close(),
  };
}

const createConnection = (options: TalosClientOptions, tls: TlsProvider): TalosConnection =>
  new TalosConnection(options.address, options.port ?? talosPort, tls, {
    deadlineSeconds: options.deadlineSeconds ?? 15,
    observer: options.observer ?? noopCallObserver,
  });
