import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';

import type { AccessAttributes } from '../kube/client/client-types.ts';
import { Controller } from '../kube/controller/controller.ts';
import type { ReflectorHealth } from '../kube/reflector/reflector.ts';
import { noLog } from '../lib/log.ts';
import { createCacheSyncedCheck, createHealthServer, createLeaderKnownCheck, createWatchAliveCheck } from './health.ts';
import { listen } from './listen.ts';
import { createMetrics, createMetricsServer } from './metrics.ts';
import { loadServingCertificate } from './serving-certificate.ts';

type PathAccess = Extract<AccessAttributes, { path: string }>;

const health: ReflectorHealth = {
  isStarted: true,
  isSynced: true,
  objects: 3,
  failures: 0,
  lastError: undefined,
  lastEventAt: undefined,
  lastListAt: undefined,
  silentSeconds: 10,
};
const watched = (more: Partial<ReflectorHealth>) => ({ name: 'clusters', health: { ...health, ...more } });

describe('probes', () => {
  it('T50, S28: return ok only when every check passes, and otherwise name the failed check and why', async () => {
    const leadership = { isLeader: false, holder: undefined as string | undefined };
    const reflector = watched({ isSynced: false, lastError: 'GET /x: 403 Forbidden' });
    const app = createHealthServer({
      live: [createWatchAliveCheck(reflector)],
      ready: [createCacheSyncedCheck(reflector), createLeaderKnownCheck(leadership)],
    });
    const ready = await app.inject('/readyz');
    expect([ready.statusCode, ready.body]).toEqual([
      503,
      '[-]cache-clusters failed: not listed yet; last error: GET /x: 403 Forbidden\n[-]lease failed: the leader is unknown\nnot ok\n',
    ]);
    expect((await app.inject('/healthz')).body).toBe('[+]watch-clusters ok\nok\n');
    reflector.health = health;
    leadership.holder = 'another pod';
    expect((await app.inject('/readyz')).statusCode).toBe(200);
  });

  it('request a restart when a watch has been silent for a quarter of an hour, unless it was never started', () => {
    expect(createWatchAliveCheck(watched({ silentSeconds: 900 })).problem()).toBeUndefined();
    expect(createWatchAliveCheck(watched({ silentSeconds: 901 })).problem()).toBe('no event for 901 s');
    expect(createWatchAliveCheck(watched({ silentSeconds: 901, isStarted: false })).problem()).toBeUndefined();
    expect(createCacheSyncedCheck(watched({ isSynced: false, isStarted: false })).problem()).toBeUndefined();
  });
});

describe('metrics', () => {
  it('T51: use the names that dashboards know', async () => {
    const metrics = createMetrics();
    const clock = new ManualClock();
    const controller = new Controller({
      name: 'cluster',
      clock,
      log: noLog,
      observer: metrics.controller,
      sources: [],
      reconcile: async ({ name }) => {
        if (name === 'bad') throw new Error('bad');
        return { requeueAfterSeconds: 60 };
      },
    });
    const end = new AbortController();
    const done = controller.start(end.signal);
    controller.enqueue({ name: 'good' });
    controller.enqueue({ name: 'bad' });
    await clock.settle();
    end.abort();
    await done;
    metrics.transport('platform').request('GET', '200', 0.01);
    metrics.work.step({ platform: 'truenas', plan: 'provision', step: 'vm-started' }, 'wait', 0.2);
    metrics.work.granted('token', 'renewal');
    metrics.calls({ system: 'truenas', name: 'vm.start', result: 'ok', seconds: 0.1 });
    const allowance = { owner: 'robot', name: 'POST /reset', total: () => 50, remaining: () => 44 };
    metrics.calls({ system: 'hetzner-robot', name: 'POST /reset/{n}', result: 'ok', seconds: 0.1, allowance });
    allowance.remaining = () => 45;
    metrics.setObjects(watched({}));
    metrics.setLeader('cluster-provider', { isLeader: true });
    const response = await createMetricsServer(metrics.registry).inject('/metrics');
    expect(response.headers['content-type']).toContain('text/plain; version=0.0.4');
    for (const line of [
      'controller_runtime_reconcile_total{controller="cluster",result="requeue_after"} 1',
      'controller_runtime_reconcile_total{controller="cluster",result="success"} 0',
      'controller_runtime_reconcile_errors_total{controller="cluster"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="cluster"} 2',
      'workqueue_depth{name="cluster",controller="cluster"} 0',
      'workqueue_adds_total{name="cluster",controller="cluster"} 2',
      'workqueue_retries_total{name="cluster",controller="cluster"} 1',
      'rest_client_requests_total{code="200",method="GET",server="platform"} 1',
      'reflector_objects{name="clusters"} 3',
      'cluster_provider_talos_steps_total{platform="truenas",plan="provision",step="vm-started",end="wait"} 1',
      'cluster_provider_talos_grants_total{kind="token",occasion="renewal"} 1',
      'cluster_provider_talos_grants_total{kind="oidc",occasion="new"} 0',
      'cluster_provider_talos_calls_total{system="truenas",call="vm.start",result="ok"} 1',
      'cluster_provider_talos_calls_remaining{system="hetzner-robot",owner="robot",limit="POST /reset"} 45',
      'cluster_provider_talos_calls_hourly_budget{system="hetzner-robot",owner="robot",limit="POST /reset"} 50',
      'leader_election_master_status{name="cluster-provider"} 1',
    ]) {
      expect(response.body.split('\n')).toContain(line);
    }
  });

  it.each([
    ['unauthenticated', 401, /bearer token/],
    ['forbidden', 403, /bind a ClusterRole/],
    ['unavailable', 503, /platform cluster/],
  ] as const)('are not shown to clients that are %s, at any path', async (verdict, code, text) => {
    const asked: PathAccess[] = [];
    const review = async (_: unknown, request: AccessAttributes) => {
      asked.push(request as PathAccess);
      return verdict;
    };
    const access = { review };
    const app = createMetricsServer(createMetrics().registry, {
      tls: await loadServingCertificate({}, new Date()),
      access,
    });
    for (const url of ['/metrics', '/metrics?x=1', '/other']) {
      const response = await app.inject({ url, headers: { authorization: 'Bearer x' } });
      expect([response.statusCode, response.body]).toEqual([code, expect.stringMatching(text)]);
    }
    await app.inject({ url: '/metrics', method: 'HEAD' });
    expect(asked.map(({ verb, path }) => `${verb} ${path}`)).toEqual([
      'get /metrics',
      'get /metrics',
      'get /other',
      'head /metrics',
    ]);
  });

  it('are served over HTTPS with a self-signed certificate', async () => {
    const tls = await loadServingCertificate({}, new Date());
    const app = createMetricsServer(createMetrics().registry, { tls, access: { review: async () => 'allowed' } });
    const url = await listen(app, { host: '127.0.0.1', port: 0 });
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      expect(url).toMatch(/^https:/);
      const response = await request(`${url}/metrics`, { dispatcher });
      expect([response.statusCode, (await response.body.text()).includes('process_cpu_seconds_total')]).toEqual([
        200,
        true,
      ]);
    } finally {
      await dispatcher.close();
      await app.close();
    }
  });
});
