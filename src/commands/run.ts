import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { fieldManager } from '../api/names.ts';
import { AddressLeases } from '../controllers/address-leases.ts';
import { HostClaims } from '../controllers/host-claims.ts';
import { makeControllers } from '../controllers/index.ts';
import { findInstallation } from '../controllers/installation.ts';
import { NodeWatches } from '../controllers/nodes/node-watches.ts';
import type { Services, Stores } from '../controllers/services.ts';
import { makeStores } from '../controllers/stores.ts';
import { Targets } from '../controllers/targets.ts';
import { OpenConnections } from '../engine/connections.ts';
import { KubeClient } from '../kube/client.ts';
import { connectionFrom } from '../kube/connection.ts';
import { EventRecorder } from '../kube/events.ts';
import { Leadership } from '../kube/lease.ts';
import { Transport } from '../kube/transport.ts';
import { systemClock } from '../lib/clock.ts';
import { shorten } from '../lib/hash.ts';
import type { Log } from '../lib/log.ts';
import { platforms } from '../platforms/index.ts';
import { createMetrics, type Metrics } from '../server/metrics.ts';
import type { RunOptions } from './flags.ts';
import { startServers } from './servers.ts';

/**
 * Runs the controllers until the signal ends. Watches start at once, work only under the Lease: two processes overlap
 * in every roll-out, and the second one is warm when it takes over. Throws when the Lease was lost, so that the process
 * ends and starts clean.
 */
export async function run(options: RunOptions): Promise<void> {
  const { signal, log, watchClock = systemClock } = options;
  const identity = `${options.podName ?? hostname()}_${randomUUID().slice(0, 8)}`;
  const metrics = createMetrics();
  const connection = connectionFrom(options.kubeconfig ? { path: options.kubeconfig } : {});
  const transport = new Transport(connection, { observer: metrics.transport('platform'), clock: watchClock });
  const kube = new KubeClient(transport, { fieldManager, log });
  const stores = makeStores(kube, {
    provider: options.providerName,
    namespace: options.podNamespace,
    clock: watchClock,
    log,
    observer: metrics.reflector,
  });
  // One connection of its own: a renewal neither waits behind others nor meets more than one that is dead.
  const leaseTransport = new Transport(connection, { observer: metrics.transport('lease'), connections: 1 });
  const leadership = new Leadership({
    client: new KubeClient(leaseTransport, { fieldManager, log }),
    namespace: options.podNamespace,
    name: shorten(`cluster-provider-talos-${options.environment}-${options.providerName}`.toLowerCase()),
    identity,
    clock: systemClock,
    log,
    ...(options.leaseSeconds ? { leaseSeconds: options.leaseSeconds } : {}),
  });
  const stopServers = await startServers(options, { stores, leadership, metrics, log });
  const watching = new AbortController();
  const watches = Object.values(stores).map((store) => store.start(watching.signal));
  try {
    const end = await leadership.run(signal, (reign, tenure) =>
      lead({ options, kube, stores, metrics, identity, signal: reign, tenure, log }),
    );
    if (end === 'lost') throw new Error('The Lease was lost: another process may be leading now.');
  } finally {
    watching.abort();
    await Promise.allSettled([...watches, stopServers()]);
    await Promise.all([kube.close(), leaseTransport.close()]);
  }
}

interface Reign {
  readonly options: RunOptions;
  readonly kube: KubeClient;
  readonly stores: Stores;
  readonly metrics: Metrics;
  readonly identity: string;
  /** Ends all work. */
  readonly signal: AbortSignal;
  /** Ends with the Lease: what is to be said at the end is said under it. */
  readonly tenure: AbortSignal;
  readonly log: Log;
}

/** What only the leader does. */
async function lead({ options, kube, stores, metrics, identity, signal, tenure, log }: Reign): Promise<void> {
  const clock = options.clock ?? systemClock;
  const installation = await findInstallation({ kube, clock, log }, signal);
  if (installation === undefined) return;
  const connections = new OpenConnections(signal, metrics.calls);
  const events = new EventRecorder({
    client: kube,
    clock,
    log,
    component: options.providerName,
    instance: identity,
    signal: tenure,
  });
  const targets = new Targets({
    secrets: (name) => stores.secrets.get({ namespace: options.podNamespace, name }),
    clock,
    log,
    fieldManager,
    observer: metrics.calls,
    transportObserver: metrics.transport('cluster'),
  });
  const nodes = new NodeWatches({ clock: options.watchClock ?? systemClock, log });
  const services: Services = {
    environment: options.environment,
    provider: options.providerName,
    namespace: options.podNamespace,
    installation,
    kube,
    stores,
    platforms,
    connections,
    addresses: new AddressLeases(kube, options.podNamespace, options.providerName),
    hosts: new HostClaims({ kube, store: stores.hosts, events, clock }),
    targets,
    nodes,
    events,
    observer: metrics.work,
    clock,
    log,
  };
  const controllers = makeControllers(services, {
    names: options.controllers,
    accountNamespace: options.accessNamespace,
    observer: metrics.controller,
  });
  try {
    await Promise.all(controllers.map((controller) => controller.start(signal)));
  } finally {
    await Promise.allSettled([events.close(), nodes.close(), targets.close(), connections.close()]);
  }
}
