import { Counter, Gauge, type Registry } from 'prom-client';
import type { CallObserver, CallQuota, ProviderObserver } from '../lib/observers.ts';
import { createTimedCounter, longDurationBuckets } from './timed-counter.ts';

/** Metrics that are specific to this provider: its steps, and its calls to other systems. */
export function createWorkMetrics(registry: Registry): ProviderObserver {
  const steps = createTimedCounter(registry, {
    total: {
      name: 'cluster_provider_talos_steps_total',
      help: 'Runs of Machine steps, by result: done, wait, fail or error.',
      labelNames: ['platform', 'plan', 'step', 'end'],
    },
    time: {
      name: 'cluster_provider_talos_step_duration_seconds',
      help: 'Duration of step runs.',
      labelNames: ['platform', 'plan', 'step'],
    },
    buckets: longDurationBuckets,
  });
  const grants = new Counter({
    name: 'cluster_provider_talos_grants_total',
    help: 'Kubeconfigs written for AccessRequests, by kind of access and reason.',
    labelNames: ['kind', 'occasion'],
    registers: [registry],
  });
  const remediations = new Counter({
    name: 'cluster_provider_talos_remediations_total',
    help: 'Restarts and replacements of machines whose node was unhealthy.',
    labelNames: ['platform', 'action'],
    registers: [registry],
  });
  // An event that never happened has the value zero instead of no value.
  for (const kind of ['token', 'oidc'])
    for (const trigger of ['new', 'renewal']) grants.inc({ kind, occasion: trigger }, 0);
  return {
    step: (about, end, seconds) => steps({ ...about, end }, { ...about }, seconds),
    remediated: (platform, action) => remediations.inc({ platform, action }),
    granted: (kind, trigger) => grants.inc({ kind, occasion: trigger }),
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
      help: 'Duration of calls to platforms and nodes.',
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

/** Each quota with its remaining calls, at the time of the scrape. */
function createRemainingCallsGauge(registry: Registry): (system: string, allowance: CallQuota) => void {
  const shown = new Map<string, { readonly system: string; readonly allowance: CallQuota }>();
  const gauge = (name: string, help: string, value: (allowance: CallQuota) => number) =>
    new Gauge({
      name: `cluster_provider_talos_${name}`,
      help,
      labelNames: ['system', 'owner', 'limit'],
      registers: [registry],
      collect() {
        for (const { system, allowance } of shown.values())
          this.set({ system, owner: allowance.owner, limit: allowance.name }, value(allowance));
      },
    });
  gauge('calls_remaining', 'Remaining calls in hourly budgets, by system, owner and name of the budget.', (quota) =>
    quota.remaining(),
  );
  gauge('calls_hourly_budget', 'Calls that hourly budgets have, by system, owner and name of the budget.', (quota) =>
    quota.total(),
  );
  return (system, allowance) =>
    shown.set(JSON.stringify([system, allowance.owner, allowance.name]), { system, allowance });
}
