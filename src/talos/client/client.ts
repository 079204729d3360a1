import type { Closable } from '../../engine/connection.ts';
import { type CallObserver, noopCallObserver } from '../../lib/observers.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import type { TalosCredentials } from '../secrets/client-credentials.ts';
import { TalosConnection, type TlsProvider, type TlsSettings, talosPort } from './connection.ts';
import { createEtcdClient, type EtcdClient } from './etcd-calls.ts';
import { createEtcdRecoveryCalls, type EtcdRecoveryCalls } from './etcd-recovery.ts';
import {
  createNodeConfigCalls,
  createNodeLifecycleCalls,
  createNodeReadCalls,
  type NodeConfigCalls,
  type NodeLifecycleCalls,
  type NodeReadCalls,
} from './node-calls.ts';
import { tlsSettingsOf } from './tls-settings.ts';
import { createUpgradeCalls, type UpgradeCalls } from './upgrade-calls.ts';

/** The calls that a node supports in every mode. */
export interface NodeClient extends Closable, NodeReadCalls, NodeConfigCalls {
  readonly address: string;
}

/**
 * A client of one node of a cluster. Each method makes one call to exactly this node, with a deadline, and throws a
 * ProviderError: TALOS_UNREACHABLE, TALOS_FOREIGN_NODE (also for a node in maintenance mode), TALOS_NOT_READY,
 * TALOS_PERMISSION_DENIED and the codes that the method itself names.
 */
export interface TalosClient extends NodeClient, EtcdClient, EtcdRecoveryCalls, NodeLifecycleCalls, UpgradeCalls {}

export interface TalosClientOptions {
  /** An address of the node, or a name from its `machine.certSANs`. Never the endpoint of the cluster. */
  readonly address: string;
  readonly port?: number;
  /** Deadline of an ordinary call. Default: 15. */
  readonly deadlineSeconds?: number;
  readonly observer?: CallObserver;
}

/** Opens a client of a configured node. It connects with the first call; `close` ends active calls. */
export function openTalosClient(options: TalosClientOptions & { readonly credentials: TalosCredentials }): TalosClient {
  const { credentials } = options;
  let used: { readonly pair: KeyPair; readonly tls: TlsSettings } | undefined;
  const connection = createConnection(options, async () => {
    const pair = await credentials.client();
    if (used?.pair !== pair) used = { pair, tls: tlsSettingsOf(credentials.ca, pair) };
    return used.tls;
  });
  return {
    address: options.address,
    ...createNodeReadCalls(connection),
    ...createNodeConfigCalls(connection),
    ...createNodeLifecycleCalls(connection),
    ...createEtcdClient(connection),
    ...createEtcdRecoveryCalls(connection),
    ...createUpgradeCalls(connection),
    close: () => connection.close(),
  };
}

/**
 * Opens a client of a node in maintenance mode. The node generates its certificate at run time, so nothing is verified:
 * send a configuration only where no other machine can answer at the address.
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
