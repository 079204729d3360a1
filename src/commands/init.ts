import { buildCrds } from '../api/crd.ts';
import { fieldManager } from '../api/names.ts';
import { KubeClient } from '../kube/client/client.ts';
import { loadApiServerConnection } from '../kube/transport/api-server-connection.ts';
import { Transport } from '../kube/transport/transport.ts';
import { systemClock } from '../lib/clock.ts';
import type { InitOptions } from './flags/operator-settings.ts';
import { installCrds } from './install/install-crds.ts';
import { installOpenmcpCrds, warnAboutMissingOpenmcpCrds } from './install/install-openmcp-crds.ts';
import { installPolicies } from './install/install-policies.ts';

/** Timeout of the whole `init`. The operator restarts a failed Job. */
const initTimeoutSeconds = 120;

/**
 * Installs or updates the provider's CustomResourceDefinitions and admission policy on the platform cluster and, if
 * requested, the missing openMCP CustomResourceDefinitions. Idempotent and safe to run concurrently.
 */
export async function runInit(options: InitOptions): Promise<void> {
  const { kubeconfig: path, log, signal } = options;
  const connection = loadApiServerConnection({ ...(path && { path }), environment: process.env });
  const client = new KubeClient(new Transport(connection), { fieldManager, log });
  try {
    const how = { client, clock: systemClock, log, signal, timeoutSeconds: initTimeoutSeconds };
    if (options.withOpenmcpCrds) await installOpenmcpCrds(how);
    else await warnAboutMissingOpenmcpCrds(how);
    await installCrds({ ...how, crds: buildCrds() });
    await installPolicies(how);
  } finally {
    await client.close();
  }
}
