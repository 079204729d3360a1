import { fieldManager } from '../api/names.ts';
import { createAutoscalerHandler } from '../autoscaler/request-handler.ts';
import { listBackups } from '../controllers/backup/list-backups.ts';
import { HostClaims } from '../controllers/host/host-claims.ts';
import { makeControllers } from '../controllers/index.ts';
import { listPublications } from '../controllers/publish/list-publications.ts';
import { listRestores } from '../controllers/restore/list-restores.ts';
import { listAuthorities } from '../controllers/rollout/authorities/list-authorities.ts';
import { listRollouts } from '../controllers/rollout/progress/list-rollouts.ts';
import { AddressLeases } from '../controllers/shared/addresses/address-leases.ts';
import { awaitInstallation } from '../controllers/shared/installation.ts';
import { NodeWatches } from '../controllers/shared/nodes/node-watches.ts';
import type { Services, Stores } from '../controllers/shared/services.ts';
import { TargetClients } from '../controllers/shared/target-clients.ts';
import { ProcessConnectionCache } from '../engine/connection-cache.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { EventRecorder } from '../kube/event-recorder.ts';
import { systemClock } from '../lib/clock.ts';
import { waitOrAbort } from '../lib/deadline.ts';
import type { Log } from '../lib/log.ts';
import type { CallObserver } from '../lib/observers.ts';
import { platforms } from '../platforms/index.ts';
import type { Metrics } from '../server/metrics.ts';
import { serveMutualTls } from '../server/mutual-tls-server.ts';
import { exportFleet } from './export-fleet.ts';
import type { RunOptions } from './flags/operator-settings.ts';
import type { StatusPage } from './start-status-page.ts';
import { startTraces } from './start-traces.ts';

interface LeaderContext {
  readonly options: RunOptions;
  readonly kube: KubeClient;
  readonly stores: Stores;
  readonly metrics: Metrics;
  readonly identity: string;
  /** Ends all work. */
  readonly signal: AbortSignal;
  /** Ends with the Lease: final writes are made while the Lease is held. */
  readonly lostLeadership: AbortSignal;
  readonly log: Log;
  readonly statusPage: StatusPage | undefined;
}

/** Starts the work that only the leader does. */
export async function runAsLeader({
  options,
  kube,
  stores,
  metrics,
  identity,
  signal,
  lostLeadership: leadership,
  log,
  statusPage,
}: LeaderContext): Promise<void> {
  const clock = options.clock ?? systemClock;
  const { podNamespace: namespace } = options;
  const installation = await awaitInstallation({ kube, namespace, clock, log }, signal);
  if (installation === undefined) return;
  const traces = await startTraces(options, stores, clock);
  const calls: CallObserver = (call) => {
    metrics.calls(call);
    traces?.call(call);
  };
  const connections = new ProcessConnectionCache(signal, calls);
  const events = new EventRecorder({
    client: kube,
    clock,
    log,
    component: options.providerName,
    instance: identity,
    signal: leadership,
  });
  const targets = new TargetClients({
    secrets: (name) => stores.secrets.get({ namespace, name }),
    clock,
    log,
    fieldManager,
    observer: calls,
    transportObserver: metrics.transport('cluster'),
  });
  const nodes = new NodeWatches({ clock: options.watchClock ?? systemClock, log });
  const addresses = new AddressLeases(kube, namespace, options.providerName);
  const services: Services = {
    environment: options.environment,
    provider: options.providerName,
    namespace,
    release: options.release ?? '',
    installation: installation.id,
    isImported: installation.isImported,
    kube,
    stores,
    platforms,
    connections,
    addresses,
    hosts: new HostClaims({ kube, addresses, store: stores.hosts, events, clock }),
    targets,
    nodes,
    events,
    observer: metrics.work,
    ...(traces ? { tracer: traces.tracer } : {}),
    clock,
    log,
  };
  metrics.setRollouts(
    () => (leadership.aborted ? [] : listRollouts(services)),
    () => clock.now(),
  );
  metrics.setAuthorities(() => (leadership.aborted ? [] : listAuthorities(services)));
  metrics.setBackups(() => (leadership.aborted ? [] : listBackups(services)));
  metrics.setPublications(() => (leadership.aborted ? [] : listPublications(services)));
  metrics.setRestores(() => (leadership.aborted ? [] : listRestores(services)));
  statusPage?.lead(services, signal);
  exportFleet(services, { metrics, leadership, shared: statusPage?.measurements });
  const controllers = makeControllers(services, {
    names: options.controllers,
    accountNamespace: options.accessNamespace,
    observer: metrics.controller,
  });
  try {
    await Promise.all([
      ...controllers.map((controller) => controller.start(signal)),
      serveAutoscalers(services, options, signal),
    ]);
  } finally {
    await Promise.allSettled([events.close(), nodes.close(), targets.close(), connections.close(), traces?.close()]);
  }
}

/** Nothing is answered from caches that are not complete: an autoscaler deletes what it does not find. */
async function serveAutoscalers(services: Services, { autoscaler }: RunOptions, signal: AbortSignal): Promise<void> {
  if (!autoscaler) return;
  const { stores, clock, log } = services;
  const synced = Promise.all(Object.values(stores).map((store) => store.synced));
  await waitOrAbort(synced, signal).catch(() => {});
  if (signal.aborted) return;
  await serveMutualTls({ ...autoscaler, handler: createAutoscalerHandler(services), clock, log }, signal);
}
