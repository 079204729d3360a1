import { describeCrds } from '../api/crd.ts';
import { fieldManager } from '../api/names.ts';
import { KubeClient } from '../kube/client.ts';
import { connectionFrom } from '../kube/connection.ts';
import { Transport } from '../kube/transport.ts';
import { systemClock } from '../lib/clock.ts';
import type { InitOptions } from './flags.ts';
import { installCrds } from './install-crds.ts';
import { installPolicies } from './install-policies.ts';
import { installOpenmcpCrds, warnOfMissingOpenmcpCrds } from './openmcp-crds.ts';

/** Time for the whole of `init`. The operator starts a failed Job again, so patience has an end. */
const patienceSeconds = 120;

/**
 * Installs or updates our CustomResourceDefinitions and admission policy on the platform cluster, and where it is told to the
 * CustomResourceDefinitions of openMCP that are missing. May run any number of times, also at once.
 */
export async function init(options: InitOptions): Promise<void> {
  const { kubeconfig: path, log, signal } = options;
  const connection = connectionFrom({ ...(path && { path }), environment: process.env });
  const client = new KubeClient(new Transport(connection), { fieldManager, log });
  try {
    const how = { client, clock: systemClock, log, signal, patienceSeconds };
    if (options.withOpenmcpCrds) await installOpenmcpCrds(how);
    else await warnOfMissingOpenmcpCrds(how);
    await installCrds({ ...how, crds: describeCrds() });
    await installPolicies(how);
  } finally {
    await client.close();
  }
}
