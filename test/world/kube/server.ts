import type { Switchboard } from '../switchboard.ts';
import type { KubeStore } from './store.ts';

export interface KubeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The "etcd". Several servers may share one; default: a new one. */
  readonly store?: KubeStore;
  /** PEM. */
  readonly serving: { readonly cert: string; readonly key: string };
  /** PEM: client certificates signed by it are believed: CN is the user, each O a group. */
  readonly clientCa?: string;
  /** PEM of an RSA (RS256) or EC P-256 (ES256) key that signs and checks ServiceAccount tokens. */
  readonly serviceAccount: { readonly privateKey: string; readonly issuer: string; readonly audiences?: readonly string[] };
  /** Static bearer tokens. */
  readonly tokens?: Readonly<Record<string, { readonly user: string; readonly groups: readonly string[] }>>;
  /** Default false: a request without credentials is refused with 401. */
  readonly anonymousAuth?: boolean;
  /** What /version says; default v1.36.3. */
  readonly gitVersion?: string;
  /** Garbage collection, namespace deletion, default ServiceAccounts, as the controller-manager does them. Default true. */
  readonly controllers?: boolean;
  readonly switchboard?: Switchboard;
  /** Name at the switchboard; default `kube`. */
  readonly room?: string;
}

export interface KubeServer {
  readonly url: string;
  readonly store: KubeStore;
  /** Ends all watches and sockets at once. */
  close(): Promise<void>;
}

export function startKube(_options: KubeOptions): Promise<KubeServer> {
  return Promise.reject(new Error('not there yet'));
}
