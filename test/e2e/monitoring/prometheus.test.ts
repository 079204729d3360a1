import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ClusterRole, ClusterRoleBinding, ServiceAccount } from '../../../src/kube/core-types.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { type Prometheus, startPrometheus } from '../../peers/prometheus.ts';
import { dashboardQueries } from '../../support/dashboard-queries.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const metrics = '127.43.101.1:18080';
const labels = { job: 'talos-cluster-provider-talos-metrics', namespace: 'openmcp-system' };
const queries = dashboardQueries(labels);

/** Queries without samples in a healthy fleet on one platform, with one process, and without backups. */
const emptyHere = new Set([
  'Steps that fail',
  'Hosts by state',
  'Age of the oldest backup',
  'Remaining share of call budgets',
  'Remediations',
  'Calls that fail',
  'Longest in a health',
  'Longest in a step',
  'Conditions that are not true',
]);

async function readAlerts(): Promise<string> {
  const text = await readFile('charts/cluster-provider-talos/monitoring/alerts.yaml', 'utf8');
  return text
    .replaceAll('job="JOB"', `job="${labels.job}"`)
    .replaceAll('namespace="NAMESPACE"', `namespace="${labels.namespace}"`);
}

/** A token of an account with the role for scrapers. */
async function scraperToken({ platform, namespace }: Testbed): Promise<string> {
  const role = parse(await readFile('config/rbac/metrics-reader.yaml', 'utf8')) as { metadata: { name: string } };
  const account = { namespace, name: 'prometheus' };
  await platform.apply(ClusterRole, role as never);
  await platform.apply(ServiceAccount, { metadata: account });
  await platform.apply(ClusterRoleBinding, {
    metadata: { name: 'prometheus' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  } as never);
  return (await platform.requestToken(account, { expirationSeconds: 3600 })).token.reveal();
}

describeUnlessMissing('the program, scraped by Prometheus', missingPeers('prometheus'), () => {
  const open = startTestbed({
    subnet: '127.43.100',
    provider: { asProgram: { speed: 3, metrics, protectsMetrics: true } },
  });
  const ref = { namespace: 'shop', name: 'main' };
  const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };
  let prometheus: Prometheus | undefined;
  let folder: string | undefined;
  const running = (): Prometheus => {
    if (!prometheus) throw new Error('Prometheus does not run');
    return prometheus;
  };
  afterAll(async () => {
    await prometheus?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  prepareTestbed(open, async (testbed) => {
    const { objects } = testbed;
    await objects.credentials();
    await objects.config('home');
    await objects.cluster(ref);
    await objects.request(ref, { clusterRef: ref, token });
    folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
    const target = { address: metrics, token: await scraperToken(testbed), labels };
    prometheus = await startPrometheus({ host: '127.43.101.2', folder, target, rules: await readAlerts() });
    const counts = async (query: string): Promise<boolean> => (await running().query(query)).length > 0;
    const isReady = () => counts('cluster_provider_talos_cluster_health{health="ready"} == 1');
    await eventually('the cluster is ready in Prometheus', isReady, 300);
    const isGranted = () => counts('cluster_provider_talos_access_token_earliest_expiry_timestamp_seconds');
    await eventually('access is granted', isGranted, 300);
    await eventually('the system was measured', () => counts('cluster_provider_talos_system_reachable == 1'), 60);
    // A rate needs two scrapes of the same series.
    await eventually('rates are known', () => counts('rate(rest_client_requests_total[2m]) > 0'), 60);
  });

  it('it is scraped with the token of an account with the role', async () => {
    expect(await running().scrapeError()).toBe('');
    expect((await running().query(`up{job="${labels.job}"}`)).map(({ value }) => value[1])).toEqual(['1']);
  });

  it.each(queries)('the dashboard shows $title: $expr', async ({ title, expr }) => {
    const samples = await running().query(expr);
    if (!emptyHere.has(title)) expect(samples.length).toBeGreaterThan(0);
  });

  it('every alert is evaluated without an error, and none of them fires for a healthy fleet', async () => {
    const evaluated = async (): Promise<boolean> => (await running().rules()).every(({ health }) => health === 'ok');
    await eventually('every rule was evaluated', evaluated, 60);
    const rules = await running().rules();
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.filter(({ state }) => state !== 'inactive')).toEqual([]);
  });

  it('the state of the fleet is what was created', async () => {
    const numbersOf = async (query: string) => (await running().query(query)).map(({ value }) => Number(value[1]));
    const { length } = await open().objects.machines(ref);
    expect(await numbersOf('sum(cluster_provider_talos_machines{phase="Ready"})')).toEqual([length]);
    expect(await numbersOf('cluster_provider_talos_machines_stuck')).toEqual([0]);
    const [free = 0] = await numbersOf('cluster_provider_talos_addresses_free');
    const [all = 0] = await numbersOf('cluster_provider_talos_addresses');
    // The machines and the endpoint.
    expect(all - free).toBe(length + 1);
    const [memory = 0] = await numbersOf('cluster_provider_talos_system_memory_available_bytes');
    expect(memory).toBeGreaterThan(2 ** 30);
  });

  it('an alert goes off when the provider is gone', async () => {
    await open().provider.stop();
    const state = async (): Promise<string | undefined> =>
      (await running().rules()).find(({ name }) => name === 'ClusterProviderTalosAbsent')?.state;
    await eventually('the alert is pending', async () => (await state()) === 'pending', 60);
  });
});
