import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { fieldManager, leaseName } from '../api/names.ts';
import type { Stores } from '../controllers/shared/services.ts';
import { makeStores } from '../controllers/shared/stores.ts';
import { KubeClient } from '../kube/client/client.ts';
import { Leadership } from '../kube/leader-election/leadership.ts';
import { loadApiServerConnection } from '../kube/transport/api-server-connection.ts';
import { Transport } from '../kube/transport/transport.ts';
import { systemClock } from '../lib/clock.ts';
import { createMetrics } from '../server/metrics.ts';
import type { RunOptions } from './flags/operator-settings.ts';
import { startServers } from './start-servers.ts';
import type { StatusPage } from './start-status-page.ts';

/**
 * Runs the controllers until the signal ends. Watches start at once, reconciles only run under the Lease: two processes
 * overlap in every roll-out, and the second one has warm caches when it takes over. Throws when the Lease is lost, so
 * that the process ends and restarts clean.
 */
export async function runProvider(options: RunOptions): Promise<void> {
  const { signal, log, watchClock = systemClock } = options;
  const identity = `${options.podName ?? hostname()}_${randomUUID().slice(0, 8)}`;
  const metrics = createMetrics();
  metrics.setBuild({ provider: options.providerName, version: options.release ?? '' });
  const connection = loadApiServerConnection({
    ...(options.kubeconfig && { path: options.kubeconfig }),
    environment: process.env,
  });
  const transport = new Transport(connection, { observer: metrics.transport('platform'), clock: watchClock });
  const kube = new KubeClient(transport, { fieldManager, log });
  const stores = makeStores(kube, {
    provider: options.providerName,
    namespace: options.podNamespace,
    clock: watchClock,
    log,
    observer: metrics.reflector,
  });
  // A separate connection: a renewal neither waits behind other requests nor tries more than one dead connection.
  const leaseTransport = new Transport(connection, { observer: metrics.transport('lease'), connections: 1 });
  const leadership = new Leadership({
    client: new KubeClient(leaseTransport, { fieldManager, log }),
    namespace: options.podNamespace,
    name: leaseName(options.environment, options.providerName),
    identity,
    clock: systemClock,
    log,
    ...(options.leaseSeconds ? { leaseSeconds: options.leaseSeconds } : {}),
  });
  const stopServers = await startServers(options, { kube, stores, leadership, metrics, log });
  const statusPage = await startStatusPage(options, { kube, stores });
  const watching = new AbortController();
  const watches = Object.values(stores).map((store) => store.start(watching.signal));
  try {
    const end = await leadership.run(signal, async (leader, lostLeadership) => {
      // Most of the program is loaded only now, while the first lists are on their way.
      const { runAsLeader: lead } = await import('./run-as-leader.ts');
      await lead({ options, kube, stores, metrics, identity, signal: leader, lostLeadership, log, statusPage });
    });
    if (end === 'lost') throw new Error('The Lease was lost: another process may be the leader now.');
  } finally {
    watching.abort();
    await Promise.allSettled([...watches, stopServers(), statusPage?.close()]);
    await Promise.all([kube.close(), leaseTransport.close()]);
  }
}

/** The page is loaded only if it is served. */
async function startStatusPage(
  options: RunOptions,
  parts: { kube: KubeClient; stores: Stores },
): Promise<StatusPage | undefined> {
  const { statusPage: settings } = options;
  if (!settings) return undefined;
  const { StatusPage } = await import('./start-status-page.ts');
  return await StatusPage.start({ ...options, settings }, parts);
}
