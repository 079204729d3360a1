import { fieldManager } from '../../api/names.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { loadApiServerConnection } from '../../kube/transport/api-server-connection.ts';
import { Transport } from '../../kube/transport/transport.ts';
import type { Log } from '../../lib/log.ts';

interface KubeClientSource {
  /** Absent: the default of kubectl. */
  readonly kubeconfig?: string;
  readonly log: Log;
}

/** The platform cluster, with the user's own rights. */
export function openKubeClient({ kubeconfig: path, log }: KubeClientSource): KubeClient {
  const connection = loadApiServerConnection({ ...(path && { path }), environment: process.env });
  return new KubeClient(new Transport(connection), { fieldManager, log });
}
