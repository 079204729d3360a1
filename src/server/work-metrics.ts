import { Counter, Gauge, type Registry } from 'prom-client';
import type { CallObserver, CallQuota, ProviderObserver } from '../lib/observers.ts';
import { createTimedCounter, longDurationBuckets } from './timed-counter.ts';

/** What only this provider counts: its steps, and whom it asked what. */
export function createWorkMetrics(registry: Registry): ProviderObserver {
  const steps = createTimedCounter(registry, {
    total: {
      name: 'cluster_provider_talos_steps_total',
      help: 'Runs of steps of Machines, by how they ended: done, wait, fail or error.',
      labelNames: ['platform', 'plan', 'step', 'end'],
    },
    time: {
      name: 'cluster_provider_talos_step_duration_seconds',
      help: 'Duration of one run of a step.',
      labelNames: ['platform', 'plan', 'step'],
    },
    buckets: longDurationBuckets,
  });
  const grants = new Counter({
    name: 'cluster_provider_talos_grants_total',
    help: 'Kubeconfigs written for AccessRequests, by kind of access and occasion.',
    labelNames: ['kind', 'occasion'],
    registers: [registry],
  });
  // So that what never happened shows a zero, and not a hole.
  for (const kind of ['token', 'oidc']) for (const occasion of ['new', 'renewal']) grants.inc({ kind, occasion }, 0);
  return {
    step: (about, end, seconds) => steps({ ...about, end }, { ...about }, seconds),
    granted: (kind, occasion) => grants.inc({ kind, occasion }),
  };
}

/** Calls to everything that is not a Kubernetes API server. */
export function createCallMetrics(registry: Registry): CallObserver {
  const calls = createTimedCounter(registry, {
    total: {
      name: 'cluster_provider_talos_calls_total',
      help: 'Calls to platforms and nodes, by system, call and result.',
      labelNames: ['system', 'call', 'result'],
    },
    time: {
      name: 'cluster_provider_talos_call_duration_seconds',
      help: 'Time until a platform or node had answered.',
      labelNames: ['system', 'call'],
    },
    buckets: longDurationBuckets,
  });
  const showAllowance = createRemainingCallsGauge(registry);
  return ({ system, name, result, seconds, allowance }) => {
    calls({ system, call: name, result }, { system, call: name }, seconds);
    if (allowance) showAllowance(system, allowance);
  };
}

/** What is left of limited calls, as it is in the moment of the question. */
function createRemainingCallsGauge(registry: Registry): (system: string, allowance: CallQuota) => void {
  const shown = new Map<string, { readonly system: string; readonly allowance: CallQuota }>();
  new Gauge({
    name: 'cluster_provider_talos_calls_remaining',
    help: 'Calls that may still be made within the limits of an hour, by system, owner of the limit, and its name.',
    labelNames: ['system', 'owner', 'limit'],
    registers: [registry],
    collect() {
      for (const { system, allowance } of shown.values()) {
        this.set({ system, owner: allowance.owner, limit: allowance.name }, allowance.remaining());
      }
    },
  });
  return (system, allowance) =>
    shown.set(JSON.stringify([system, allowance.owner, allowance.name]), { system, allowance });
}
