import { constants } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { toAuthority } from '../../../src/lib/net/ip.ts';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import { OidcTokenAuthenticator, type TrustedOidcIssuer } from './auth/oidc-tokens.ts';
import { TokenKey } from './auth/token-key.ts';
import type { RequestedApi } from './discovery/metrics.ts';
import type { ApiBackend } from './request/context.ts';
import { createRequestListener } from './request/pipeline.ts';
import { createBootstrapObjects } from './storage/bootstrap-objects.ts';
import { ResourceRegistry } from './storage/resource-registry.ts';
import { joinStoreLoops } from './storage/shared-loops.ts';
import { createKubeStore, type KubeStore, objectStorageOf } from './storage/store.ts';

export { createKubeStore, type KubeStore } from './storage/store.ts';

export interface KubeServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The "etcd". Several servers may share one; default: a new one. */
  readonly store?: KubeStore;
  /** PEM. */
  readonly serving: { readonly cert: string; readonly key: string };
  /** PEM: CA of client certificates: CN is the user, each O a group. */
  readonly clientCa?: string;
  /** PEM of an RSA (RS256) or EC P-256 (ES256) key that signs and verifies ServiceAccount tokens. */
  readonly serviceAccount: {
    readonly privateKey: string;
    readonly issuer: string;
    /** Accepted audiences of tokens; default: the issuer. */
    readonly audiences?: readonly string[];
  };
  /** Static bearer tokens. */
  readonly tokens?: Readonly<Record<string, { readonly user: string; readonly groups: readonly string[] }>>;
  /** OIDC issuers of users; default: none. */
  readonly oidc?: readonly TrustedOidcIssuer[];
  /** Default false: a request without credentials is refused with 401. */
  readonly anonymousAuth?: boolean;
  /** The response of /version; default v1.36.3. */
  readonly gitVersion?: string;
  /** The deprecated APIs that the metrics name; default: none. */
  readonly requestedApis?: () => readonly RequestedApi[];
  /**
   * Runs garbage collection, namespace deletion and default ServiceAccounts of the controller-manager. Default true.
   */
  readonly controllers?: boolean;
  /** With them, also those of Deployments and DaemonSets, and the scheduler. Default false: Pods stay Pending. */
  readonly workloads?: boolean;
  /** PEM for the ConfigMaps `kube-root-ca.crt`; default: the serving certificate. */
  readonly rootCa?: string;
  readonly switchboard?: CallInterceptor;
  /**
   * Duration for which everything is forbidden except to system:masters, as on kube-apiserver while it loads roles and
   * bindings. Default 0.
   */
  readonly forbidsMilliseconds?: number;
  /** Name at the interceptor; default `kube`. */
  readonly simulator?: string;
}

export interface KubeServer {
  readonly url: string;
  readonly store: KubeStore;
  /** Ends all watches and sockets at once. Idempotent. */
  close(): Promise<void>;
}

/** Starts an API server over HTTPS. It answers as soon as the promise resolves. */
export async function startKubeServer(options: KubeServerOptions): Promise<KubeServer> {
  const store = options.store ?? createKubeStore();
  const storage = objectStorageOf(store);
  createBootstrapObjects(storage);
  const { serviceAccount } = options;
  const address = { url: '' };
  const backend: ApiBackend = {
    storage,
    registry: new ResourceRegistry(storage),
    auth: {
      storage,
      key: new TokenKey(serviceAccount.privateKey),
      issuer: serviceAccount.issuer,
      audiences: serviceAccount.audiences ?? [serviceAccount.issuer],
      tokens: options.tokens ?? {},
      anonymousAuth: options.anonymousAuth ?? false,
      oidc: new OidcTokenAuthenticator(options.oidc ?? []),
    },
    gitVersion: options.gitVersion ?? 'v1.36.3',
    requestedApis: options.requestedApis ?? (() => []),
    authorizesFrom: performance.now() + (options.forbidsMilliseconds ?? 0),
    url: () => address.url,
  };
  const server = createServer(
    {
      ...options.serving,
      ...(options.clientCa ? { ca: options.clientCa, requestCert: true, rejectUnauthorized: false } : {}),
      // A resumed session would lose the client's certificate.
      secureOptions: constants.SSL_OP_NO_TICKET,
      // Clients keep idle connections for long. A server that closes first would break their next request.
      keepAliveTimeout: 600_000,
      requestTimeout: 0,
    },
    createRequestListener(backend, options.switchboard, options.simulator ?? 'kube'),
  );
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  address.url = `https://${toAuthority(options.host, (server.address() as AddressInfo).port)}`;
  const rootCa = options.rootCa ?? options.serving.cert;
  const leave = joinStoreLoops(storage, {
    controllers: options.controllers ?? true,
    workloads: options.workloads ?? false,
    rootCa,
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    leave();
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
    await backend.auth.oidc.close();
  };
  return {
    url: address.url,
    store,
    close() {
      closing ??= close();
      return closing;
    },
  };
}
