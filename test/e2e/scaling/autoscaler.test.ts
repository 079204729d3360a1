import { rm } from 'node:fs/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { labels, machineName, nodePoolName } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { InstanceStatus_InstanceState as State } from '../../../src/autoscaler/gen/externalgrpc_pb.ts';
import { TemplateNodeSchema } from '../../../src/autoscaler/gen/node_pb.ts';
import { Node } from '../../../src/kube/drain/kinds.ts';
import { createTestAuthority, type PemKeyPair } from '../../peers/test-authority.ts';
import {
  type AutoscalerClient,
  createAutoscalerCertificates,
  openAutoscalerClient,
  writeServingCertificate,
} from '../../support/autoscaler-client.ts';
import { eventually } from '../../support/eventually.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { deletionsSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const certificates = await createAutoscalerCertificates();
const address = { host: '127.0.0.1', port: 0 };
const open = startTestbed({
  subnet: '127.42.229',
  provider: { autoscaler: { address, folder: certificates.folder } },
});
const cluster = { namespace: 'shop', name: 'elastic' };
const other = { namespace: 'shop', name: 'other' };
const work = nodePoolName(cluster, 'work');
const big = nodePoolName(cluster, 'big');
const nameOf = (slot: number, pool = 'work') => machineName(cluster, pool, slot);

let client: AutoscalerClient;
let foreign: AutoscalerClient;

/** Where the provider listens since its last start. */
const listening = async () =>
  await eventually('it listens', async () => {
    const lines = open().provider.lines.filter((line) => line.includes('serving over mutual TLS'));
    return (JSON.parse(lines.at(-1) ?? '{}') as { address?: string }).address;
  });
const openClient = async (pair: PemKeyPair | undefined, ca = certificates.authority.ca) =>
  openAutoscalerClient(await listening(), ca, pair);
const clientFor = async ({ namespace, name }: NamespacedRef) =>
  await openClient(await certificates.client(`cluster://${namespace}/${name}`));

const machines = async (pool = 'work') =>
  (await open().objects.machines(cluster)).filter(({ spec }) => spec.pool === pool);
const isReady = ({ status }: Machine) => isConditionTrue(status?.conditions, 'Ready');
const has = async (...slots: readonly number[]) => {
  const found = await machines();
  return found.map(({ spec }) => spec.slot).join() === slots.join() && found.every(isReady);
};
const groups = async () => (await client.nodeGroups({})).nodeGroups;
const maxOf = async (id: string) => (await groups()).find((group) => group.id === id)?.maxSize;
const target = async (id = work) => (await client.nodeGroupTargetSize({ id })).targetSize;
const instances = async (id = work) => (await client.nodeGroupNodes({ id })).instances;
const nodes = () =>
  withAdminClient(open(), cluster, async (admin) =>
    (await admin.list(Node, {})).items.map(({ metadata: { name }, spec }) => ({
      name,
      providerId: spec?.providerID ?? '',
    })),
  );
const nodeOf = async (slot: number) => (await nodes()).find(({ name }) => name === nameOf(slot));
const rejection = async (call: Promise<unknown>): Promise<{ code: string; message: string }> => {
  const error = await call.then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  );
  const { code, rawMessage } = ConnectError.from(error);
  return { code: Code[code], message: rawMessage };
};

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    // Seven addresses, of which two clusters need four for their endpoints and control planes.
    pool: [10, 16],
    change: (spec) =>
      void Object.assign(spec, {
        workerPools: [
          { name: 'work', replicas: 0, minReplicas: 0, maxReplicas: 5, size: 'small', labels: { disk: 'nvme' } },
          { name: 'big', replicas: 0, minReplicas: 0, maxReplicas: 3, size: 'big' },
          { name: 'fixed', replicas: 0, size: 'small' },
        ],
        truenas: { ...spec['truenas'], sizes: [small, { ...small, name: 'big', memoryMiB: 8_000_000 }] },
      }),
  });
  for (const ref of [cluster, other]) await objects.cluster(ref);
  const phase = async (ref: NamespacedRef) => (await objects.getCluster(ref)).status?.phase;
  await eventually(
    'both are ready',
    async () => (await phase(cluster)) === 'Ready' && (await phase(other)) === 'Ready',
    200,
  );
});
const small = { name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20 };

beforeAll(async () => {
  client = await clientFor(cluster);
  foreign = await clientFor(other);
});
afterAll(async () => {
  client?.close();
  foreign?.close();
  await rm(certificates.folder, { recursive: true });
});

describe('who may call', () => {
  it('a client sees the NodePools of its own cluster that have limits, and scales no other', async () => {
    expect((await groups()).map(({ id }) => id).sort()).toEqual([big, work]);
    expect((await foreign.nodeGroups({})).nodeGroups.map(({ id }) => id)).toContain(nodePoolName(other, 'work'));
    for (const id of [nodePoolName(other, 'work'), nodePoolName(cluster, 'fixed')])
      expect(await rejection(client.nodeGroupIncreaseSize({ id, delta: 1 }))).toEqual({
        code: 'NotFound',
        message: `There is no node group ${id} in this cluster.`,
      });
  });

  it('no certificate, or one of another authority, ends the handshake', async () => {
    const strange = await (await createTestAuthority('another')).client('x', [], ['cluster://shop/elastic']);
    for (const pair of [undefined, strange]) {
      const one = await openClient(pair);
      const { code, message } = await rejection(one.nodeGroups({}));
      // What the client has sent when the connection ends is a matter of time.
      expect(code).toMatch(/^(Unavailable|Canceled|Aborted|Internal)$/);
      expect(message).not.toMatch(/accepted|of the provider/);
      one.close();
    }
  });

  it.each([
    ['of no cluster', 'cluster://shop/none', /Cluster shop\/none, which does not exist/],
    ['with another URI', 'spiffe://shop/elastic', /exactly one URI/],
    ['with more than a name', 'cluster://shop/elastic/x', /exactly one URI/],
  ])('a certificate %s is refused, with the remedy', async (_, uri, message) => {
    const one = await openClient(await certificates.client(uri));
    expect(await rejection(one.refresh({}))).toEqual({
      code: 'PermissionDenied',
      message: expect.stringMatching(message),
    });
    one.close();
  });
});

describe('scaling', () => {
  it('D59: the largest size is what free addresses allow, and more is refused with the remedy', async () => {
    expect(await maxOf(work)).toBe(3);
    const { code, message } = await rejection(client.nodeGroupIncreaseSize({ id: work, delta: 4 }));
    expect(code).toBe('ResourceExhausted');
    expect(message).toMatch(/can have 3 more nodes, not 4: 3 addresses of network\.addressPool .* Add addresses\.$/);
    expect(await target()).toBe(0);
  });

  it('a pool without nodes describes the one that it would get', async () => {
    const { nodeBytes } = await client.nodeGroupTemplateNodeInfo({ id: work });
    const template = fromBinary(TemplateNodeSchema, nodeBytes);
    expect(template.metadata?.labels).toMatchObject({
      [labels.pool]: 'work',
      disk: 'nvme',
      'kubernetes.io/os': 'linux',
    });
    expect(template.status?.allocatable['cpu']?.string).toBe('1950m');
    expect(template.status?.capacity['pods']?.string).toBe('110');
  });

  it('D57, D58: from zero to two, with instances that have the ids of their Nodes', async () => {
    await client.nodeGroupIncreaseSize({ id: work, delta: 2 });
    expect((await open().platform.get(NodePool, { name: work })).spec.replicas).toBe(2);
    await eventually('the instances are there', async () => (await instances()).length === 2);
    await eventually('two are ready', () => has(0, 1), 100);
    expect(await target()).toBe(2);
    await eventually('they run', async () =>
      (await instances()).every(({ status }) => status?.instanceState === State.RUNNING),
    );
    const known = (await instances()).map(({ id }) => id).sort();
    const own = (await nodes()).filter(({ name }) => name.startsWith(work));
    expect(own.map(({ providerId }) => providerId).sort()).toEqual(known);
    for (const node of own) expect((await client.nodeGroupForNode({ node })).nodeGroup?.id).toBe(work);
  });

  it('D57: control planes, Nodes of users and of other clusters are in no group', async () => {
    const [controlPlane] = (await nodes()).filter(({ name }) => !name.startsWith(work));
    const strangers = [
      controlPlane,
      { name: nameOf(0), providerId: 'kind://x' },
      { name: 'x', providerId: '' },
      undefined,
    ];
    for (const node of strangers) expect((await client.nodeGroupForNode(node ? { node } : {})).nodeGroup?.id).toBe('');
    const node = await nodeOf(0);
    expect((await foreign.nodeGroupForNode(node ? { node } : {})).nodeGroup?.id).toBe('');
  });

  it('D58: exactly the named node is deleted, once, however often it is asked for', async () => {
    const since = new Date();
    const node = await nodeOf(0);
    if (!node) throw new Error('there is no such node');
    const request = { id: work, nodes: [node] };
    await Promise.all([client.nodeGroupDeleteNodes(request), client.nodeGroupDeleteNodes(request)]);
    await client.nodeGroupDeleteNodes(request);
    expect((await open().platform.get(NodePool, { name: work })).spec.replicas).toBe(1);
    const found = (await instances()).find(({ id }) => id === node.providerId);
    if (found) expect(found.status?.instanceState).toBe(State.DELETING);
    await eventually('one is left', () => has(1), 100);
    await client.nodeGroupDeleteNodes(request);
    expect(await target()).toBe(1);
    expect(deletionsSince(open(), since).names).toEqual([nameOf(0)]);
  });

  it('a node that another one is asked for meanwhile goes all the same', async () => {
    const [before] = await machines();
    const node = await nodeOf(1);
    await client.nodeGroupDeleteNodes({ id: work, nodes: node ? [node] : [] });
    await client.nodeGroupIncreaseSize({ id: work, delta: 1 });
    await eventually(
      'another one is there',
      async () => {
        const [now, ...more] = await machines();
        return more.length === 0 && now !== undefined && isReady(now) && now.metadata.uid !== before?.metadata.uid;
      },
      100,
    );
    expect(await target()).toBe(1);
  });

  it('no node is deleted below the smallest size, none that is foreign, and none by a lower wish', async () => {
    await open().platform.merge(
      ProviderConfig,
      { name: 'home' },
      {
        spec: {
          workerPools: [{ name: 'work', replicas: 1, minReplicas: 1, maxReplicas: 5, size: 'small' }, ...rest],
        } as object,
      },
    );
    await eventually('it is known', async () => (await groups()).find(({ id }) => id === work)?.minSize === 1);
    const own = (await nodes()).filter(({ name }) => name.startsWith(work));
    expect(await rejection(client.nodeGroupDeleteNodes({ id: work, nodes: own }))).toEqual({
      code: 'FailedPrecondition',
      message: `NodePool ${work} would have 0 nodes, and minReplicas of the worker pool work is 1. Lower it to allow this.`,
    });
    const foreignNode = { name: 'x', providerId: 'kind://x' };
    expect((await rejection(client.nodeGroupDeleteNodes({ id: work, nodes: [foreignNode] }))).code).toBe(
      'InvalidArgument',
    );
    expect((await rejection(client.nodeGroupDecreaseTargetSize({ id: work, delta: -1 }))).code).toBe(
      'FailedPrecondition',
    );
    expect((await rejection(client.nodeGroupIncreaseSize({ id: work, delta: 0 }))).code).toBe('InvalidArgument');
    expect(await target()).toBe(1);
  });
});

const rest = [
  { name: 'big', replicas: 0, minReplicas: 0, maxReplicas: 3, size: 'big' },
  { name: 'fixed', replicas: 0, size: 'small' },
];

it('D59: a node that its platform has no memory for is an error of this kind, and can be taken back', async () => {
  await client.nodeGroupIncreaseSize({ id: big, delta: 1 });
  const waiting = await eventually('it says so', async () =>
    (await instances(big)).find(({ status }) => status?.errorInfo?.instanceErrorClass === 1),
  );
  expect(waiting.status).toMatchObject({
    instanceState: State.CREATING,
    errorInfo: { errorCode: 'InsufficientMemory', errorMessage: expect.stringMatching(/memory/i) },
  });
  expect(await maxOf(big)).toBe(1);
  const { code, message } = await rejection(client.nodeGroupIncreaseSize({ id: big, delta: 1 }));
  expect([code, message]).toEqual(['ResourceExhausted', expect.stringContaining(`${nameOf(0, 'big')} waits: `)]);
  // A Node that the autoscaler has invented for the instance.
  await client.nodeGroupDeleteNodes({ id: big, nodes: [{ name: waiting.id, providerId: waiting.id }] });
  await eventually('it is gone', async () => (await instances(big)).length === 0, 100);
  expect(await target(big)).toBe(0);
});

it('methods that are not served, and a cluster in deletion', async () => {
  const { refresh, cleanup, gPULabel, getAvailableGPUTypes } = client;
  for (const call of [refresh, cleanup, getAvailableGPUTypes]) await call({});
  expect((await gPULabel({})).label).toBe('');
  await open().objects.remove(Cluster, other);
  await eventually('it has no groups', async () => {
    const answer = await foreign.nodeGroups({}).catch(() => undefined);
    return !answer?.nodeGroups.length;
  });
});

it('files that change are taken over: a client of the former authority is refused', async () => {
  const authority = await createTestAuthority('next');
  await writeServingCertificate(certificates.folder, authority);
  await eventually(
    'the former client is refused',
    async () =>
      (
        await client.refresh({}).then(
          () => undefined,
          (error: unknown) => ConnectError.from(error),
        )
      )?.code,
  );
  const next = await openClient(await authority.client('x', [], ['cluster://shop/elastic']), authority.ca);
  expect((await next.nodeGroups({})).nodeGroups.map(({ id }) => id)).toContain(work);
  next.close();
  expect(open().faults()).toEqual([]);
});
