import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { buildCrds } from '../../src/api/crd.ts';
import { Machine } from '../../src/api/machine.ts';
import { clusterId, labels } from '../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { parseCommandLine } from '../../src/commands/flags/parse-command-line.ts';
import { installCrds } from '../../src/commands/install/install-crds.ts';
import { runStatus } from '../../src/commands/status.ts';
import { runWhy } from '../../src/commands/why.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, ServiceAccount } from '../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import { readProjectFile } from '../contracts/source-tree.ts';
import { eventually } from '../support/eventually.ts';
import { aCluster, aMachine, anAccessRequest, aProviderConfig } from '../support/fixtures/builders.ts';
import { readOutput } from '../support/read-output.ts';
import { runProgram } from '../support/run-program.ts';
import { kubeconfigOf } from '../world/kube/index.ts';
import { installOpenmcpKinds, systemNamespace } from '../world/operator/install-openmcp.ts';
import { startTestPlatformCluster } from '../world/operator/platform-cluster-fixture.ts';

/** The commands with the rights of config/rbac/status-reader.yaml. No provider runs: the statuses are written here. */
let platform: Awaited<ReturnType<typeof startTestPlatformCluster>>;
let admin: KubeClient;
let kubeconfig: string;
const since = '2026-11-21T09:00:00Z';
const isFalse = (type: string, reason: string, message: string) => ({
  ...{ type, status: 'False' as const, reason, message, lastTransitionTime: since },
});
const waiting = (type: string, reason: string, message: string) => [
  isFalse(type, reason, message),
  isFalse('Ready', reason, message),
];

/** Another line would let a message look like output of the program. */
const evil = 'The image is being uploaded.\n\u001b[2JAll is well.';

async function setStatus(
  type: typeof Cluster | typeof Machine | typeof AccessRequest,
  key: { namespace?: string; name: string },
  status: object,
) {
  await admin.merge(type as typeof Cluster, key, { status }, { subresource: 'status' });
}

async function createCluster(namespace: string, name: string): Promise<Cluster> {
  const { uid: _, ...metadata } = aCluster({}, { namespace, name }).metadata;
  return await admin.create(Cluster, { ...aCluster(), metadata });
}

async function createObjects(): Promise<void> {
  for (const name of ['team', 'shop'])
    await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const { status: _, ...config } = aProviderConfig();
  await admin.create(ProviderConfig, { ...config, metadata: { name: 'home' } });
  const cluster = await createCluster('team', 'prod');
  await createCluster('shop', 'prod');
  await admin.create(Cluster, {
    ...aCluster({ profile: 'test.other.home' }),
    metadata: { namespace: 'team', name: 'of-others' },
  });
  const message = 'No machine is ready.';
  const conditions = waiting('MachinesReady', 'WaitingForMachines', message);
  await setStatus(Cluster, cluster.metadata, { observedGeneration: 1, phase: 'Progressing', conditions });
  const ready = [{ ...isFalse('Ready', 'AsExpected', ''), status: 'True' as const }];
  await setStatus(
    Cluster,
    { namespace: 'shop', name: 'prod' },
    { observedGeneration: 1, phase: 'Ready', conditions: ready },
  );
  const { status: __, spec, ...machine } = aMachine();
  await admin.create(Machine, {
    ...machine,
    metadata: {
      name: machine.metadata.name,
      labels: { [labels.cluster]: clusterId({ namespace: 'team', name: 'prod' }) },
    },
    spec: { ...spec, clusterRef: { ...spec.clusterRef, uid: cluster.metadata.uid ?? '' } },
  });
  await setStatus(
    Machine,
    { name: machine.metadata.name },
    {
      ...{ observedGeneration: 1, phase: 'Provisioning' },
      conditions: waiting('Provisioned', 'StepWaiting', `image-cached: ${evil}`),
      progress: { plan: 'provision', step: 'image-cached', since, failures: 2, facts: {} },
    },
  );
  const { status: ___, metadata: ____, ...request } = anAccessRequest();
  await admin.create(AccessRequest, { ...request, metadata: { namespace: 'team', name: 'mine' } });
  await setStatus(
    AccessRequest,
    { namespace: 'team', name: 'mine' },
    {
      ...{ observedGeneration: 1, phase: 'Pending' },
      conditions: waiting('ClusterReady', 'WaitingForCluster', 'Cluster team/prod is not ready.'),
    },
  );
}

async function bindReader(folder: string): Promise<string> {
  const [metadata, user] = [{ name: 'viewer' }, { namespace: systemNamespace, name: 'viewer' }];
  const [role] = parseAllDocuments(readProjectFile('config/rbac/status-reader.yaml')).map((one) => one.toJS());
  await admin.apply(ClusterRole, role);
  await admin.apply(ServiceAccount, { metadata: user });
  await admin.apply(ClusterRoleBinding, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...user }],
  } as never);
  const { token } = await admin.requestToken(user, { expirationSeconds: 3600 });
  const at = loadApiServerConnection({ path: platform.kubeconfig });
  const { tls } = await at.credentials();
  const path = join(folder, 'viewer.kubeconfig');
  await writeFile(path, kubeconfigOf(at.server, String(tls.ca), { token: token.reveal() }), { mode: 0o600 });
  return path;
}

beforeAll(async () => {
  platform = await startTestPlatformCluster();
  admin = new KubeClient(new Transport(loadApiServerConnection({ path: platform.kubeconfig })), {
    fieldManager: 'test',
  });
  const { signal } = new AbortController();
  await installOpenmcpKinds(admin, noLog, signal);
  await installCrds({ client: admin, crds: buildCrds(), clock: systemClock, log: noLog, signal, timeoutSeconds: 30 });
  await createObjects();
  kubeconfig = await bindReader(platform.options.folder);
}, 60_000);
afterAll(async () => {
  await admin?.close();
  await platform?.close();
});

async function run(...words: string[]): Promise<{ out: string; isWell: boolean }> {
  const line = parseCommandLine([...words, '--kubeconfig', kubeconfig], {});
  const printed: string[] = [];
  const print = (text: string): void => void printed.push(text);
  const edges = { log: noLog, signal: new AbortController().signal, print };
  if (line.command === 'status') {
    const isWell = await runStatus({ ...line.settings, ...edges });
    return { isWell, out: printed.join('\n') };
  }
  if (line.command !== 'why') throw new Error(`parsed as ${line.command}`);
  await runWhy({ ...line.settings, ...edges });
  return { out: printed.join('\n'), isWell: true };
}

it('status lists the Clusters of this provider, problems first', async () => {
  const { out } = await run('status');
  const [header, first, second, ...rest] = out.split('\n');
  expect(header).toMatch(/^CLUSTER +HEALTH +MACHINES +KUBERNETES +TALOS +UP-TO-DATE +BACKUP +SINCE +WHY$/);
  expect(first).toMatch(/^team\/prod +creating +0\/1 .* WaitingForMachines: No machine is ready\.$/);
  expect(second).toMatch(/^shop\/prod +ready +0\/0 /);
  expect(rest).toEqual([]);
});

it('status is JSON and YAML of the same content, and can be limited to a namespace', async () => {
  const json = readOutput('status', (await run('status', '-o', 'json')).out);
  expect(json.clusters.map(({ namespace, health }) => [namespace, health])).toEqual([
    ['team', 'creating'],
    ['shop', 'ready'],
  ]);
  expect(parse((await run('status', '--output=yaml')).out)).toEqual(json);
  const shop = readOutput('status', (await run('status', '-n', 'shop', '-o', 'json')).out);
  expect(shop.clusters.map(({ namespace }) => namespace)).toEqual(['shop']);
});

it('status --exit-code says whether every Cluster is ready', async () => {
  expect((await run('status')).isWell).toBe(true);
  expect((await run('status', '--exit-code')).isWell).toBe(false);
  expect((await run('status', '--exit-code', '-n', 'shop')).isWell).toBe(true);
});

it('why follows a Cluster to the step of its Machine, in one paragraph that no message can leave', async () => {
  const { out } = await run('why', 'cluster/prod', '--namespace', 'team');
  const name = aMachine().metadata.name;
  expect(out).toContain('Cluster team/prod is a cluster of profile test.talos.home. It is being created (for ');
  expect(out).toContain(`It waits for Machine ${name}. It has been in the step image-cached of its provision for `);
  expect(out).toContain('has failed 2 times in a row');
  expect(out).toContain('The condition Provisioned (StepWaiting) says: The image is being uploaded. [2JAll is well.');
  expect(out).toContain('What to do: Nothing: it goes on by itself. See docs/troubleshoot.md#machine.');
  expect(out).not.toMatch(/\p{Cc}/u);
});

it('why explains a Machine by its name alone, and an AccessRequest down to the Machine', async () => {
  const name = aMachine().metadata.name;
  expect((await run('why', name)).out).toMatch(`Machine ${name} is a control plane of Cluster team/prod.`);
  const { findings } = readOutput('why', (await run('why', 'mine', '-o', 'json')).out);
  expect(findings.map(({ object }) => object.kind)).toEqual(['AccessRequest', 'Cluster', 'Machine']);
});

it('why reports an unknown name, and an ambiguous one with all candidates', async () => {
  await expect(run('why', 'nobody')).rejects.toThrow('There is no Cluster, Machine, Host or AccessRequest nobody.');
  await expect(run('why', 'host/prod')).rejects.toThrow('There is no Host prod.');
  await expect(run('why', 'prod')).rejects.toThrow(
    /Several objects have the name prod: Cluster shop\/prod, Cluster team\/prod\. Select one with KIND\/NAME and --namespace\./,
  );
});

it('status --watch prints each change, until it is stopped', async () => {
  const line = parseCommandLine(['status', '--watch', '--kubeconfig', kubeconfig], {});
  if (line.command !== 'status') throw new Error('not parsed');
  const stopping = new AbortController();
  const written: string[] = [];
  const live = { write: (text: string) => written.push(text) };
  const isShown = (pattern: RegExp) => written.some((text) => pattern.test(text));
  const ended = runStatus({ ...line.settings, log: noLog, signal: stopping.signal, print: () => {}, live });
  await eventually('the first state', () => isShown(/Z {2}shop\/prod {2}ready/));
  await createCluster('shop', 'late');
  await eventually('the new Cluster', () => isShown(/Z {2}shop\/late {2}creating/));
  await admin.remove(Cluster, { namespace: 'shop', name: 'late' });
  await eventually('its deletion', () => isShown(/Z {2}shop\/late {2}deleted/));
  stopping.abort();
  expect(await ended).toBe(true);
  expect(written.filter((text) => text.includes('shop/prod'))).toHaveLength(1);
  expect(isShown(/cannot be watched/)).toBe(false);
});

/** The other codes of check and plan need a platform, and are in its tests. */
it.each([
  [0, ['help']],
  [0, ['version']],
  [0, ['completion', 'fish']],
  [2, ['completion', 'tcsh']],
  [2, ['check', '--config', '/nowhere/config.yaml']],
  [2, ['check', '--nothing']],
  [2, ['plan', '--config', '/nowhere/config.yaml']],
  [2, []],
])('without a platform cluster the exit code is %i for %j', async (code, words) => {
  expect((await runProgram(...words)).code).toBe(code);
});

it.each([
  [2, ['check', '--provider-config', 'nobody']],
  [2, ['plan', '--cluster', 'shop/nobody']],
  [1, ['hosts', '--account', 'nobody']],
  [1, ['support-bundle', '--output-file', '/nowhere/bundle.tar.gz']],
  [0, ['status', '-o', 'json']],
  [1, ['status', '--exit-code']],
  [0, ['status', '--exit-code', '--namespace', 'shop']],
  [1, ['status', '--kubeconfig', '/nowhere']],
  [2, ['status', '--exit-code', '--kubeconfig', '/nowhere']],
  [0, ['why', 'mine']],
  [1, ['why', 'nobody']],
  [2, ['why']],
])('the exit code is %i for %j', async (code, words) => {
  expect((await runProgram(words[0] ?? '', '--kubeconfig', kubeconfig, ...words.slice(1))).code).toBe(code);
});
