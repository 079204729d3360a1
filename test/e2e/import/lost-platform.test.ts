import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, leaseName, openmcpKeys } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { runImport } from '../../../src/commands/import.ts';
import { Lease, Secret } from '../../../src/kube/core-types.ts';
import { noLog } from '../../../src/lib/log.ts';
import { eventually } from '../../support/eventually.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import { coreReadRules } from '../support/access/access-helpers.ts';
import { takeDecryptedBackup } from '../support/access/decrypted-backup.ts';
import { withGrantedClient } from '../support/access/workload-cluster.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { addressHolders, infrastructureWrites, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { testLogging } from '../support/provider-process/provider-run.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const network = '127.42.253';
const [server, otherServer] = [3140011, 3140012] as const;
const open = startTestbed({
  ...{ subnet: '127.42.252', timeScale: 0.01, speed: 50 },
  seeds: { robot: { network, servers: [{ number: server, name: 'rack-7' }, { number: otherServer }] } },
});
const virtual = { namespace: 'shop', name: 'virtual' };
const bare = { namespace: 'shop', name: 'bare' };
const clusters = [virtual, bare];
/** Has no backup. */
const unsaved = { namespace: 'shop', name: 'unsaved' };
let folder: string;
let backups: string[];
let second: Testbed;
let kubeconfig: string;
let robotOnSecond: RobotTestObjects;

const isReady = async ({ objects }: Testbed, ref: typeof virtual) => {
  const { status } = await objects.getCluster(ref);
  return status?.phase === 'Ready';
};
const areReady = async (testbed: Testbed, refs = clusters): Promise<boolean> =>
  (await Promise.all(refs.map((ref) => isReady(testbed, ref)))).every(Boolean);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-'));
  return async () => await rm(folder, { recursive: true, force: true });
});

/** Not due before the end of this test. */
const backup = {
  schedule: '0 0 1 1 *',
  recipients: ['age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'],
  s3: { endpoint: 'https://s3.example.org', bucket: 'backups', credentialsRef: { name: 's3' } },
};

/** What a platform team keeps in a repository. */
async function applyConfigs(testbed: Testbed, robot: RobotTestObjects): Promise<void> {
  const limits = { minReplicas: 1, maxReplicas: 3 };
  await testbed.objects.credentials();
  await robot.credentials();
  await testbed.objects.config('home', {
    ...{ controlPlanes: 3, workers: 1 },
    change: (spec) => {
      Object.assign(spec, { backup });
      Object.assign(spec.workerPools?.[0] ?? {}, limits);
    },
  });
  await robot.config('metal');
}

prepareTestbed(open, async (testbed) => {
  const robot = await RobotTestObjects.on(testbed);
  await applyConfigs(testbed, robot);
  await testbed.objects.cluster(virtual);
  for (const [number, ref] of [
    [server, bare],
    [otherServer, unsaved],
  ] as const) {
    await robot.host(number);
    await testbed.objects.cluster(ref, { config: 'metal' });
    await eventually('it has its server', async () => (await robot.getHost(number)).status?.machineRef);
  }
  await eventually('all clusters are ready', () => areReady(testbed, [...clusters, unsaved]), 200);
  const [pool] = (await testbed.platform.list(NodePool)).items;
  await testbed.platform.merge(NodePool, { name: pool?.metadata.name ?? '' }, { spec: { replicas: 2 } }, {});
  await eventually(
    'the pool has two nodes',
    async () => (await testbed.platform.get(NodePool, { name: pool?.metadata.name ?? '' })).status?.readyReplicas === 2,
    120,
  );
  // A note, and an approval that nothing has needed yet.
  const notes = { 'team.example/note': 'first', [annotations.approve]: 'EtcdHasQuorum' };
  await testbed.objects.annotate(Cluster, virtual, notes);
  backups = [];
  for (const ref of clusters) backups.push(await takeDecryptedBackup(testbed, ref, folder));
  await testbed.provider.stop();
  second = await testbed.onSecondPlatform();
  robotOnSecond = robot.movedTo(second);
  await applyConfigs(second, robotOnSecond);
  kubeconfig = await second.kubeconfigWith('config/rbac/import.yaml');
});
afterAll(async () => await second?.close());

const importFrom = (base: string, ...words: string[]) =>
  runProgram('import', '--from', base, '--kubeconfig', kubeconfig, ...words);
const boots = () => ({
  nodes: open()
    .world.machines.nodes()
    .map(({ name, boots: count }) => [name, count]),
  servers: open()
    .world.robot.servers()
    .map(({ bootCount }) => bootCount),
});
const machinesOn = async ({ platform }: Testbed) =>
  (await platform.list(Machine)).items.map(({ metadata }) => metadata.name).sort();

it('is only described without --confirm', async () => {
  const { code, out } = await importFrom(backups[0] ?? '');
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(
      /^Cluster shop\/virtual as it was at .*: 1 Secrets, 5 Machines, 0 Hosts, 1 NodePools, 6 addresses\..*\n.*--confirm\.\n$/,
    ),
  });
  const described = readOutput('import', (await importFrom(backups[0] ?? '', '--output', 'json')).out);
  expect(described).toMatchObject({ name: 'virtual', isImported: false, machines: 5, created: [] });
  expect(await machinesOn(second)).toEqual([]);
});

it('names what is wrong with a file, and changes nothing', async () => {
  const base = join(folder, 'changed');
  const objects = await readFile(`${backups[0]}.objects.yaml`, 'utf8');
  await writeFile(`${base}.secrets.yaml`, await readFile(`${backups[1]}.secrets.yaml`));
  await writeFile(`${base}.objects.yaml`, objects);
  expect(await importFrom(base, '--confirm')).toMatchObject({
    code: 1,
    err: expect.stringContaining('The Secrets are not those of Cluster shop/virtual.'),
  });
  await writeFile(`${base}.objects.yaml`, objects.replace(/slot: 0/, 'slot: none'));
  expect((await importFrom(base)).err).toMatch(/changed\.objects\.yaml is not valid: machines\.\d+\.spec\.slot/);
  expect((await importFrom(join(folder, 'none'))).err).toMatch(/none\.objects\.yaml cannot be read/);
  expect(await machinesOn(second)).toEqual([]);
});

it('is refused while the provider runs there', async () => {
  second.provider.start();
  const name = leaseName(second.environment, 'talos');
  const { namespace } = second;
  await eventually('it leads', async () => {
    const lease = await second.platform.find(Lease, { namespace, name });
    return lease?.spec?.holderIdentity;
  });
  expect(await importFrom(backups[0] ?? '', '--confirm')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/The provider runs \(Lease .*\)\. Stop it first\./),
  });
  await second.provider.stop();
  // As if it had never run there.
  for (const { metadata } of (await second.platform.list(ClusterProfile)).items)
    await second.platform.remove(ClusterProfile, { name: metadata.name });
});

it('brings the objects of a cluster back, as often as it is repeated', async () => {
  const imported = await importFrom(backups[0] ?? '', '--confirm');
  expect(imported).toMatchObject({ code: 0, out: expect.stringMatching(/created .*\nImported Cluster .*\nStart/s) });
  const again = await importFrom(backups[0] ?? '', '--confirm');
  expect(again).toMatchObject({ code: 0, out: expect.not.stringContaining('created') });
  const isVirtual = (name: string): boolean => name.startsWith('virtual-');
  expect(await machinesOn(second)).toEqual((await machinesOn(open())).filter(isVirtual));
});

it('has what users have noted on it, but no request or approval from before', async () => {
  const { metadata } = await second.objects.getCluster(virtual);
  expect(metadata.annotations).toHaveProperty(['team.example/note']);
  expect(metadata.annotations).not.toHaveProperty([annotations.approve]);
});

it('may break off after any write, and is completed by the next attempt', async () => {
  const { switchboard } = second.world;
  let isFirst = true;
  const stop = switchboard.judge(({ simulator, name }) => {
    if (simulator !== 'kube' || name.startsWith('GET') || !isFirst) return undefined;
    isFirst = false;
    return { kind: 'lose-reply' };
  });
  const { namespace: podNamespace } = second;
  const from = backups[1] ?? '';
  const { signal } = new AbortController();
  const attempt = () =>
    runImport({
      ...{ from, confirm: true, kubeconfig, podNamespace, logging: testLogging, dryRun: false },
      ...{ output: 'text', log: noLog, signal, print: () => {} },
    });
  let attempts = 0;
  for (let isWhole = false; !isWhole && attempts < 100; attempts += 1) {
    isFirst = true;
    isWhole = await attempt().then(
      () => true,
      () => false,
    );
  }
  stop();
  // The last writes let the provider have the Machine and the Cluster; they change nothing the second time.
  expect(attempts).toBeGreaterThan(5);
  await attempt();
  const ofBare = [...(await addressHolders(open()))].filter(([, holder]) => holder.includes('bare-'));
  expect([...(await addressHolders(second))]).toEqual(expect.arrayContaining(ofBare));
  const known = (await second.platform.list(Machine)).items.filter(({ spec }) => spec.clusterRef.name === bare.name);
  expect(known).toMatchObject([{ status: { phase: 'Ready' } }]);
  expect(known[0]?.metadata.annotations).not.toHaveProperty([openmcpKeys.operation]);
});

it('after which the provider continues with the machines that run, and makes none', async () => {
  const before = open().calls.length;
  const booted = boots();
  const machines = await machinesOn(second);
  second.provider.start();
  await eventually('every node was asked', () => {
    const asked = open()
      .calls.slice(before)
      .filter(({ simulator }) => simulator === 'talos');
    return new Set(asked.map(({ detail }) => (detail as { node?: string }).node)).size >= machines.length;
  });
  await eventually('both clusters are ready', () => areReady(second), 120);
  const { items } = await second.platform.list(Machine);
  expect(items.map(({ status }) => status?.phase)).toEqual(items.map(() => 'Ready'));
  expect(infrastructureWrites(open().calls.slice(before))).toEqual([]);
  expect(boots()).toEqual(booted);
  expect(await machinesOn(second)).toEqual(machines);
  expect((await second.platform.get(Host, { name: `server-${server}` })).status?.state).toBe('Provisioned');
});

it('follows the schedule of backups again', async () => {
  await eventually('the next backup is known', async () => {
    const { status } = await second.objects.getCluster(virtual);
    return status?.conditions?.some(({ type }) => type === 'BackedUp');
  });
});

it('does not touch a server of a cluster without a backup, which still bears the mark', async () => {
  const before = boots().servers;
  await robotOnSecond.host(otherServer);
  await second.objects.cluster(unsaved, { config: 'metal' });
  await eventually('its machine is refused', async () => {
    const { items } = await second.platform.list(Machine);
    const machine = items.find(({ spec }) => spec.clusterRef.name === unsaved.name);
    return machine?.status?.message?.includes('which marks servers in use');
  });
  expect(boots().servers).toEqual(before);
});

it('and grants access to them', async () => {
  const ref = { namespace: virtual.namespace, name: 'reader' };
  const token = { permissions: [{ rules: coreReadRules('secrets') }] };
  await second.objects.request(ref, { clusterRef: virtual, token });
  await eventually('it is granted', async () => (await second.objects.getRequest(ref)).status?.phase === 'Granted');
  await withGrantedClient(second, ref, async (client) => {
    expect((await client.list(Secret)).items).toBeDefined();
  });
});

it('a cluster that is deleted later leaves nothing, because its marks are still ours', async () => {
  for (const ref of clusters) await second.objects.remove(Cluster, ref);
  await eventually(
    'they are gone',
    async () => (await Promise.all(clusters.map((ref) => second.objects.exists(Cluster, ref)))).every((one) => !one),
    150,
  );
  expect(listNasLeftovers(second)).toEqual([]);
  expect(open().world.robot.servers()[0]?.name).toBe('rack-7');
  expect(second.faults()).toEqual([]);
});
