import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, clusterSecretsName, labels, openmcpKeys } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { runAdopt } from '../../../src/commands/adopt.ts';
import { Namespace, Secret } from '../../../src/kube/core-types.ts';
import { noLog } from '../../../src/lib/log.ts';
import { makeSecrets } from '../../simulators/talos/testing/test-config.ts';
import { eventually } from '../../support/eventually.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import { coreReadRules } from '../support/access/access-helpers.ts';
import { takeDecryptedBackup } from '../support/access/decrypted-backup.ts';
import {
  adminKubeconfig,
  clientFromKubeconfig,
  listLabelled,
  withAdminClient,
  withGrantedClient,
} from '../support/access/workload-cluster.ts';
import { testLogging } from '../support/provider-process/provider-run.ts';
import { type ForeignCluster, renderBundle, startForeignCluster } from '../support/testbed/foreign-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.20', speed: 50 });
const ref = { namespace: 'shop', name: 'legacy' };
const request = { namespace: 'shop', name: 'reader' };
let legacy: ForeignCluster;
let kubeconfig: string;

prepareTestbed(open, async (testbed) => {
  legacy = await startForeignCluster(testbed, '127.42.21', {
    controlPlanes: ['cp-a', 'cp-b', 'cp-c'],
    workers: ['worker-a'],
  });
  await testbed.objects.config('legacy', {
    change: (spec) => {
      const external = { managedBy: 'the infrastructure team' };
      Object.assign(spec, { truenas: undefined, external, workerPools: [], network: {} });
      Object.assign(spec.controlPlane ?? {}, { size: 'external' });
    },
  });
  await testbed.objects.cluster(ref, { config: 'legacy' });
  kubeconfig = await testbed.kubeconfigWith('config/rbac/adopt.yaml');
});
afterAll(async () => await legacy?.close());

const addressesOf = (role: string) => legacy.nodes.filter((node) => node.role === role).map(({ address }) => address);
interface Words {
  readonly secrets?: string;
  readonly controlPlanes?: readonly string[];
  readonly workers?: readonly string[];
}
const adopt = (given: Words, ...words: string[]) => {
  const {
    secrets = legacy.files.secrets,
    controlPlanes = addressesOf('controlplane'),
    workers = addressesOf('worker'),
  } = given;
  const nodes = [
    ...controlPlanes.flatMap((address) => ['--control-plane', address]),
    ...workers.flatMap((address) => ['--worker', address]),
  ];
  const cluster = `${ref.namespace}/${ref.name}`;
  return runProgram(
    'adopt',
    '--cluster',
    cluster,
    '--secrets',
    secrets,
    ...nodes,
    '--kubeconfig',
    kubeconfig,
    ...words,
  );
};

const conditionOf = async (type: string) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find((condition) => condition.type === type);
const made = async () => {
  const { platform, namespace } = open();
  const machines = (await platform.list(Machine)).items.map(({ metadata }) => metadata.name).sort();
  const secret = await platform.find(Secret, { namespace, name: clusterSecretsName(ref) });
  return { machines, hasSecret: secret !== undefined };
};
const nothing = { machines: [], hasSecret: false };

/** What changes a node, at the Talos API. */
const changesOfNodes = () =>
  open()
    .calls.filter(({ simulator, name }) => simulator === 'talos' && name.startsWith('machine.MachineService/'))
    .map(({ name }) => name.replace('machine.MachineService/', ''))
    .filter((name) => !/^(Version|Read|ServiceList|EtcdStatus|EtcdMemberList|EtcdAlarmList|EtcdSnapshot)$/.test(name));
const boots = () =>
  open()
    .world.machines.nodes()
    .map(({ name, boots: count }) => [name, count]);
let bootsBefore: ReturnType<typeof boots>;

it('waits for its adoption, and makes no secrets of its own', async () => {
  await eventually('it says so', async () => (await conditionOf('SecretsReady'))?.reason === 'NotAdopted');
  expect((await conditionOf('SecretsReady'))?.message).toContain('adopt --cluster shop/legacy');
  expect(await made()).toEqual(nothing);
  bootsBefore = boots();
  // The bootstrap by its owners.
  expect(new Set(changesOfNodes())).toEqual(new Set(['Bootstrap']));
});

it('is only described without --confirm, for programs as well', async () => {
  const { isAdopted, nodes, machines, created } = readOutput('adopt', (await adopt({}, '-o', 'yaml')).out);
  expect({ isAdopted, created }).toEqual({ isAdopted: false, created: [] });
  expect(nodes.map(({ name }) => name).toSorted()).toEqual(machines.toSorted());
  expect(await made()).toEqual(nothing);
});

it('is refused with the secrets of another cluster', async () => {
  const secrets = join(legacy.folder, 'other.yaml');
  await writeFile(secrets, renderBundle(await makeSecrets()));
  const { code, err } = await adopt({ secrets }, '--confirm');
  expect(code).toBe(1);
  for (const { address } of legacy.nodes) expect(err).toContain(`${address}: `);
  const kubernetes = (await makeSecrets()).kubernetes;
  await writeFile(secrets, renderBundle({ ...legacy.secrets, kubernetes }));
  const mixed = await adopt({ secrets }, '--confirm');
  expect(mixed.err).toContain('127.42.21.1: its configuration has other secrets than the file, in cluster.ca.crt.');
  expect(mixed.err).not.toContain(legacy.secrets.kubernetes.key);
  expect(await made()).toEqual(nothing);
});

it.each<[string, () => Words, RegExp]>([
  [
    'without one of its control planes',
    () => ({ controlPlanes: addressesOf('controlplane').slice(0, 2) }),
    /etcd has the member cp-c \(https:\/\/127\.42\.21\.3:2380\): name it with --control-plane\./,
  ],
  [
    'with a worker as control plane',
    () => ({ controlPlanes: ['127.42.21.4', ...addressesOf('controlplane')], workers: [] }),
    /--control-plane 127\.42\.21\.4: it is a worker\./,
  ],
  ['with an address where nothing answers', () => ({ workers: ['127.42.21.99'] }), /127\.42\.21\.99: /],
  ['with a file that does not exist', () => ({ secrets: '/none' }), /--secrets: \/none cannot be read/],
])('is refused %s', async (_title, words, message) => {
  const { code, err } = await adopt(words(), '--confirm');
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
  expect(await made()).toEqual(nothing);
});

it('is only described without --confirm, also with the configuration of a control plane', async () => {
  for (const secrets of [legacy.files.secrets, legacy.files.configuration]) {
    const { code, out, err } = await adopt({ secrets, workers: [] });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/Kubernetes 1\.36\.3 at https:\/\/127\.42\.21\.1:6443\. .*the infrastructure team/);
    expect(out).toMatch(/cp-a +controlplane +127\.42\.21\.1 +Talos 1\.13\.9/);
    expect(out).toContain('Not named, and so not reported: worker-a.');
    expect(out).toContain('--confirm');
  }
  expect(await made()).toEqual(nothing);
});

it('may break off after any write, and is completed by the next attempt', async () => {
  const { switchboard } = open().world;
  let isFirst = true;
  const stop = switchboard.judge(({ simulator, name, detail }) => {
    const isOurs = (detail as { userAgent?: string }).userAgent !== 'e2e-test';
    const isWrite = simulator === 'kube' && /^(POST|PATCH) .*(machines|secrets|clusters)/.test(name);
    if (!isWrite || !isOurs || !isFirst || !isAttempting) return undefined;
    isFirst = false;
    return { kind: 'lose-reply' };
  });
  let isAttempting = false;
  const { namespace: podNamespace } = open();
  const { signal } = new AbortController();
  const attempt = () =>
    runAdopt({
      ...{ cluster: ref, secrets: legacy.files.secrets, confirm: true, kubeconfig, podNamespace },
      ...{ controlPlanes: addressesOf('controlplane'), workers: addressesOf('worker') },
      ...{ output: 'text', logging: testLogging, dryRun: false, log: noLog, signal, print: () => {} },
    });
  await open().provider.stop();
  let attempts = 0;
  for (let isWhole = false; !isWhole && attempts < 40; attempts += 1) {
    [isFirst, isAttempting] = [true, true];
    isWhole = await attempt().then(
      () => true,
      () => false,
    );
    // A half adopted cluster is left alone.
    if (!isWhole && attempts > 0 && attempts < 5) {
      const { metadata } = await open().objects.getCluster(ref);
      expect(metadata.annotations).toHaveProperty([openmcpKeys.operation], 'ignore');
    }
  }
  isAttempting = false;
  stop();
  // The Secret and four Machines.
  expect(attempts).toBeGreaterThanOrEqual(5);
  await attempt();
  expect(await made()).toEqual({ machines: ['cp-a', 'cp-b', 'cp-c', 'worker-a'], hasSecret: true });
  const { metadata } = await open().objects.getCluster(ref);
  expect(metadata.annotations ?? {}).not.toHaveProperty([openmcpKeys.operation]);
  open().provider.start();
});

it('is ready afterwards, with the versions that run', async () => {
  const { objects, platform } = open();
  await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 60);
  const { status, metadata } = await objects.getCluster(ref);
  expect(status?.endpoints?.[0]?.url).toBe(legacy.endpoint);
  expect(metadata.labels?.[openmcpKeys.kubernetesVersion]).toBe('1.36.3');
  await eventually('it is known to be managed by others', async () => {
    const state = await conditionOf('UpToDate');
    return state?.status === 'Unknown' && state.reason === 'ManagedByOthers';
  });
  const { items } = await platform.list(Machine);
  expect(items.map(({ status: one }) => [one?.phase, one?.applied?.talosVersion, one?.address])).toEqual(
    legacy.nodes.map(({ address }) => ['Ready', '1.13.9', address]),
  );
  expect((await platform.list(NodePool)).items).toEqual([]);
});

it('grants access with a token, and says why not by OIDC', async () => {
  const { objects } = open();
  const token = { permissions: [{ rules: coreReadRules('namespaces') }] };
  await objects.request(request, { clusterRef: ref, token });
  await eventually('it is granted', async () => (await objects.getRequest(request)).status?.phase === 'Granted');
  await withGrantedClient(open(), request, async (client) => {
    expect((await client.list(Namespace)).items.length).toBeGreaterThan(0);
  });
  const person = { namespace: 'shop', name: 'person' };
  const oidc = { name: 'login', issuer: 'https://login.example', clientID: 'one', roleBindings: [] };
  await objects.request(person, { clusterRef: ref, oidc } as never);
  await eventually('it is refused', async () => {
    const { status } = await objects.getRequest(person);
    return status?.conditions?.some(
      ({ reason, message }) => reason === 'TrustRejected' && message.includes('the infrastructure team'),
    );
  });
  await objects.remove(AccessRequest, person);
});

it('has backups', async () => {
  const base = await takeDecryptedBackup(open(), ref, legacy.folder);
  expect(base).toContain('shop-legacy');
});

it('refuses what would change its nodes', async () => {
  const { platform } = open();
  const notes = { [annotations.restore]: 'some/key', [annotations.rotateCa]: 'talos' };
  await platform.merge(Cluster, ref, { metadata: { annotations: notes } }, {});
  await eventually('the restore is refused', async () =>
    (await conditionOf('EtcdRestored'))?.message.includes('managed by others'),
  );
  await eventually(
    'the rotation is refused',
    async () => (await conditionOf('CertificateAuthoritiesRotated'))?.reason === 'RotationRefused',
  );
  const none = { [annotations.restore]: null, [annotations.rotateCa]: null };
  await platform.merge(Cluster, ref, { metadata: { annotations: none } }, {});
});

it('loses a Machine without harm to its node, and gets it back', async () => {
  const { platform } = open();
  await platform.remove(Machine, { name: 'cp-c' }, {});
  await eventually('it is gone', async () => !(await platform.find(Machine, { name: 'cp-c' })));
  expect((await adopt({}, '--confirm')).out).toContain('created Machine cp-c');
  await eventually('it is ready again', async () => {
    const { status, spec } = await platform.get(Machine, { name: 'cp-c' });
    return status?.phase === 'Ready' && spec.slot === 2;
  });
  const nodes = await withAdminClient(open(), ref, async (admin) =>
    admin.raw<{ items: { metadata: { name: string } }[] }>('GET', '/api/v1/nodes'),
  );
  expect(nodes.items.map(({ metadata }) => metadata.name).sort()).toEqual(['cp-a', 'cp-b', 'cp-c', 'worker-a']);
});

it('is left as it was when it is deleted, except for what was granted', async () => {
  const { objects, platform, namespace } = open();
  const admin = clientFromKubeconfig(await adminKubeconfig(open(), ref));
  expect(await listLabelled(admin, labels.access)).not.toEqual([]);
  await objects.remove(Cluster, ref);
  await eventually('it is gone', async () => !(await objects.exists(Cluster, ref)), 60);
  expect(await listLabelled(admin, labels.access)).toEqual([]);
  await admin.close();
  expect((await platform.list(Machine)).items).toEqual([]);
  expect(await platform.find(Secret, { namespace, name: clusterSecretsName(ref) })).toBeUndefined();
  expect(boots()).toEqual(bootsBefore);
  expect(new Set(changesOfNodes())).toEqual(new Set(['Bootstrap']));
  expect(
    open()
      .world.machines.nodes()
      .every(({ ready, stage }) => ready && stage === 'running'),
  ).toBe(true);
  expect(open().faults()).toEqual([]);
});

it('is released with an approval when its API server never answers again', async () => {
  const { objects, platform, world } = open();
  await objects.cluster(ref, { config: 'legacy' });
  await eventually('it waits', async () => (await conditionOf('SecretsReady'))?.reason === 'NotAdopted');
  expect(await adopt({ workers: [] }, '--confirm')).toMatchObject({ code: 0 });
  await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 60);
  // The endpoint is the address of this node.
  world.machines.hang('cp-a');
  await objects.remove(Cluster, ref);
  await eventually(
    'it says what it waits for',
    async () => (await conditionOf('MachinesReady'))?.reason === 'AccessNotRemoved',
    60,
  );
  expect((await conditionOf('MachinesReady'))?.message).toContain(annotations.approve);
  expect(await made()).toEqual({ machines: ['cp-a', 'cp-b', 'cp-c'], hasSecret: true });
  await platform.merge(Cluster, ref, { metadata: { annotations: { [annotations.approve]: 'AccessNotRemoved' } } }, {});
  await eventually('it is gone', async () => !(await objects.exists(Cluster, ref)), 60);
  expect(await made()).toEqual(nothing);
  expect(boots()).toEqual(bootsBefore);
});
