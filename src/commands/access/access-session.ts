import { fieldManager } from '../../api/names.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { loadApiServerConnection } from '../../kube/transport/api-server-connection.ts';
import { Transport } from '../../kube/transport/transport.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { ClusterAccessSettings } from '../flags/access-settings.ts';
import type { ProcessContext } from '../flags/operator-settings.ts';

/** The context of a command that uses the secrets of a cluster. */
export interface AccessCommandContext extends ProcessContext {
  /** Prints to standard output; the log goes elsewhere. */
  print(text: string): void;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** The platform cluster, with the rights of the user, and nothing else. Only Events are written. */
export interface AccessSession extends Pick<ProcessContext, 'log' | 'signal'> {
  readonly kube: KubeClient;
  /** The provider's own namespace. */
  readonly namespace: string;
  readonly clock: Clock;
}

/** Timeout of a whole command: a user waits for it. */
const usualTimeoutSeconds = 60;

/** Opens the platform cluster with the user's kubeconfig, and closes all connections at the end. */
export async function withAccessSession<T>(
  options: Pick<ClusterAccessSettings, 'kubeconfig' | 'podNamespace'> &
    AccessCommandContext & { readonly timeoutSeconds?: number },
  work: (session: AccessSession) => Promise<T>,
): Promise<T> {
  const {
    kubeconfig: path,
    podNamespace: namespace,
    log,
    clock = systemClock,
    timeoutSeconds = usualTimeoutSeconds,
  } = options;
  const connection = loadApiServerConnection({ ...(path && { path }), environment: process.env });
  const kube = new KubeClient(new Transport(connection), { fieldManager, log });
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  try {
    return await work({ kube, namespace, clock, log, signal });
  } finally {
    await kube.close();
  }
}
