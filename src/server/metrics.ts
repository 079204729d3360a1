import fastify, { type FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ControllerObserver } from '../kube/controller/controller.ts';
import type { QueueObserver } from '../kube/controller/work-queue.ts';
import type { ReflectorObserver } from '../kube/reflector/reflector.ts';
import type { TransportObserver } from '../kube/transport/transport.ts';
import type { CallObserver, ProviderObserver } from '../lib/observers.ts';
import { type AuthorityMetric, createAuthorityGauges } from './authority-metrics.ts';
import { type BackupMetric, createBackupGauges } from './backup-metrics.ts';
import { createFleetGauges, type FleetSamples } from './fleet-metrics.ts';
import type { ObservedReflector } from './health.ts';
import { createPublicationGauge, type PublicationMetric } from './publication-metrics.ts';
import { createRestoreGauges, type RestoreMetric } from './restore-metrics.ts';
import { createRolloutGauges, type RolloutMetric } from './rollout-metrics.ts';
import { createTimedCounter, shortDurationBuckets } from './timed-counter.ts';
import { type ServerProtection, toHttpRejection } from './token-authorizer.ts';
import { createCallMetrics, createWorkMetrics } from './work-metrics.ts';

/** All metrics. Names are those of controller-runtime and client-go, so that existing dashboards work. */
export interface Metrics {
  readonly registry: Registry;
  /**
   * For requests to one kind of API server: the platform cluster's, a target cluster's, or the platform cluster's for
   * the Lease.
   */
  transport(server: 'platform' | 'lease' | 'cluster'): TransportObserver;
  readonly controller: ControllerObserver;
  readonly reflector: ReflectorObserver;
  readonly work: ProviderObserver;
  readonly calls: CallObserver;
  /** Exports the state of a reflector at each scrape. */
  setObjects(reflector: ObservedReflector): void;
  /** Exports whether this process leads. */
  setLeader(name: string, leadership: { readonly isLeader: boolean }): void;
  /** Exports the rollouts at each scrape, with their ages at that time. */
  setRollouts(list: () => readonly RolloutMetric[], now: () => Date): void;
  /** Exports the certificate authorities of clusters at each scrape. */
  setAuthorities(list: () => readonly AuthorityMetric[]): void;
  /** Exports the backups at each scrape. */
  setBackups(list: () => readonly BackupMetric[]): void;
  /** Exports the published Clusters at each scrape. */
  setPublications(list: () => readonly PublicationMetric[]): void;
  /** Exports the restores at each scrape. */
  setRestores(list: () => readonly RestoreMetric[]): void;
  /** Exports the state of the fleet at each scrape. */
  setFleet(list: () => FleetSamples): void;
  /** Exports which provider this is. */
  setBuild(build: { readonly provider: string; readonly version: string }): void;
}

/** A separate registry, so that two instances in one process do not share metrics. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  // At the default precision the timer wakes the event loop a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 250 });
  return {
    registry,
    transport: createTransportMetrics(registry),
    controller: createControllerMetrics(registry),
    reflector: createReflectorMetrics(registry),
    work: createWorkMetrics(registry),
    calls: createCallMetrics(registry),
    setObjects: createReflectorGauges(registry),
    setLeader: createLeaderGauge(registry),
    setRollouts: createRolloutGauges(registry),
    setAuthorities: createAuthorityGauges(registry),
    setBackups: createBackupGauges(registry),
    setPublications: createPublicationGauge(registry),
    setRestores: createRestoreGauges(registry),
    setFleet: createFleetGauges(registry),
    setBuild: createBuildGauge(registry),
  };
}

const rejections = {
  unauthenticated: 'A bearer token of the platform cluster is required.',
  forbidden: 'The user is not authorized to get /metrics: bind a ClusterRole with this nonResourceURL.',
  unavailable: 'The platform cluster cannot authorize requests for metrics now.',
} as const;

/** Serves `/metrics`: over HTTPS to authorized clients, or over HTTP to every client. */
export function createMetricsServer(registry: Registry, protection?: ServerProtection): FastifyInstance {
  const app: FastifyInstance = protection
    ? (fastify({ https: protection.tls }) as unknown as FastifyInstance)
    : fastify();
  if (protection) {
    app.addHook('onRequest', async ({ headers, method, url }, reply) => {
      const request = { verb: method.toLowerCase(), path: url.split('?')[0] ?? url };
      const verdict = await protection.access.review(headers.authorization, request);
      if (verdict === 'allowed') return;
      const { code, headers: extra } = toHttpRejection(verdict);
      return reply.code(code).headers(extra).type('text/plain; charset=utf-8').send(`${rejections[verdict]}\n`);
    });
  }
  app.get('/metrics', async (_, reply) => {
    reply.type(registry.contentType);
    return await registry.metrics();
  });
  return app;
}

function createTransportMetrics(registry: Registry): Metrics['transport'] {
  const requests = createTimedCounter(registry, {
    total: {
      name: 'rest_client_requests_total',
      help: 'Requests to Kubernetes API servers, by server (platform, lease or cluster), method and status code.',
      labelNames: ['code', 'method', 'server'],
    },
    time: {
      name: 'rest_client_request_duration_seconds',
      help: 'Duration of requests to Kubernetes API servers; for watches, until the response headers.',
      labelNames: ['verb', 'server'],
    },
    buckets: shortDurationBuckets,
  });
  return (server) => ({
    request: (method, code, seconds) => requests({ code, method, server }, { verb: method, server }, seconds),
  });
}

function createControllerMetrics(registry: Registry): ControllerObserver {
  const common = { labelNames: ['controller'] as const, registers: [registry] };
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles, by controller and result.',
    labelNames: ['controller', 'result'],
    registers: [registry],
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that failed, by controller.',
    ...common,
  });
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Duration of reconciles, by controller.',
    buckets: shortDurationBuckets,
    ...common,
  });
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Running reconciles, by controller.',
    ...common,
  });
  const queues = createQueueMetrics(registry);
  return {
    queue: (controller) => {
      // A controller that never failed has the value zero instead of no value.
      for (const result of ['success', 'requeue_after', 'requeue', 'error']) total.inc({ controller, result }, 0);
      errors.inc({ controller }, 0);
      return queues(controller);
    },
    reconciled: (controller, result, seconds) => {
      total.inc({ controller, result });
      if (result === 'error') errors.inc({ controller });
      time.observe({ controller }, seconds);
    },
    active: (controller, workers) => active.set({ controller }, workers),
  };
}

function createQueueMetrics(registry: Registry): (controller: string) => QueueObserver {
  const common = { labelNames: ['name', 'controller'] as const, registers: [registry] };
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Keys waiting for a worker.', ...common });
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added.', ...common });
  const retries = new Counter({ name: 'workqueue_retries_total', help: 'Keys added after a failure.', ...common });
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Waiting time of keys for a worker.',
    buckets: shortDurationBuckets,
    ...common,
  });
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Processing time of keys.',
    buckets: shortDurationBuckets,
    ...common,
  });
  return (controller) => {
    const labels = { name: controller, controller };
    depth.set(labels, 0);
    adds.inc(labels, 0);
    retries.inc(labels, 0);
    return {
      depth: (keys) => depth.set(labels, keys),
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      queued: (seconds) => waited.observe(labels, seconds),
      reconciled: (seconds) => worked.observe(labels, seconds),
    };
  };
}

function createReflectorMetrics(registry: Registry): ReflectorObserver {
  const registers = [registry];
  const lists = new Counter({
    name: 'reflector_lists_total',
    help: 'Complete lists.',
    labelNames: ['name'],
    registers,
  });
  const watches = new Counter({
    name: 'reflector_watches_total',
    help: 'Watches opened.',
    labelNames: ['name'],
    registers,
  });
  const events = new Counter({
    name: 'reflector_events_total',
    help: 'Received events, including bookmarks.',
    labelNames: ['name'],
    registers,
  });
  const failures = new Counter({
    name: 'reflector_failures_total',
    help: 'Failed lists and watches, by reason.',
    labelNames: ['name', 'reason'],
    registers,
  });
  return {
    listed: (name) => lists.inc({ name }),
    watched: (name) => watches.inc({ name }),
    event: (name) => events.inc({ name }),
    failed: (name, reason) => failures.inc({ name, reason }),
  };
}

function createReflectorGauges(registry: Registry): (reflector: ObservedReflector) => void {
  const shown: ObservedReflector[] = [];
  const gauge = (name: string, help: string, value: (reflector: ObservedReflector) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['name'],
      registers: [registry],
      collect() {
        for (const reflector of shown) this.set({ name: reflector.name }, value(reflector));
      },
    });
  gauge('reflector_objects', 'Objects known.', (r) => r.health.objects);
  gauge('reflector_silent_seconds', 'Time since the last event, bookmark or list.', (r) => r.health.silentSeconds);
  gauge('reflector_synced', '1 after the first complete list.', (r) => (r.health.isSynced ? 1 : 0));
  return (reflector) => shown.push(reflector);
}

function createLeaderGauge(registry: Registry): (name: string, leadership: { readonly isLeader: boolean }) => void {
  const shown = new Map<string, { readonly isLeader: boolean }>();
  new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process leads.',
    labelNames: ['name'],
    registers: [registry],
    collect() {
      for (const [name, leadership] of shown) this.set({ name }, leadership.isLeader ? 1 : 0);
    },
  });
  return (name, leadership) => shown.set(name, leadership);
}

function createBuildGauge(registry: Registry): Metrics['setBuild'] {
  const gauge = new Gauge({
    name: 'cluster_provider_talos_build_info',
    help: 'Always 1, with the name and the version of the provider.',
    labelNames: ['provider', 'version'],
    registers: [registry],
  });
  return (build) => gauge.set({ ...build }, 1);
}
