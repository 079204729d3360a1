import { buildCrds } from '../api/crd.ts';
import { fieldManager } from '../api/names.ts';
import { KubeClient } from '../kube/client/client.ts';
import { loadApiServerConnection } from '../kube/transport/api-server-connection.ts';
import { Transport } from '../kube/transport/transport.ts';
import { systemClock } from '../lib/clock.ts';
import type { InitOptions } from './flags/parse-command-line.ts';
import { installCrds } from './install/install-crds.ts';
import { installOpenmcpCrds, warnAboutMissingOpenmcpCrds } from './install/install-openmcp-crds.ts';
import { installPolicies } from './install/install-policies.ts';

/** Time for the whole of `init`. The operator starts a failed Job again, so patience has an end. */
const initTimeoutSeconds = 120;

/**
 * Installs or updates our CustomResourceDefinitions and admission policy on the platform cluster, and where it is told to the
 * CustomResourceDefinitions of openMCP that are missing. May run any number of times, also at once.
 */
export async function runInit(options: InitOptions): Promise<void> {
  const { kubeconfig: path, log, signal } = options;
  const connection = loadApiServerConnection({ ...(path && { path }), environment: process.env });
  const client = new KubeClient(new Transport(connection), { fieldManager, log });
  try {
    const how = { client, clock: systemClock, log, signal, patienceSeconds: initTimeoutSeconds };
    if (options.withOpenmcpCrds) await installOpenmcpCrds(how);
    else await warnAboutMissingOpenmcpCrds(how);
    await installCrds({ ...how, crds: buildCrds() });
    await installPolicies(how);
  } finally {
    await client.close();
  }
}
