import { rm } from 'node:fs/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { nodePoolName } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { InstanceStatus_InstanceState as State } from '../../../src/autoscaler/gen/externalgrpc_pb.ts';
import { Node } from '../../../src/kube/drain/kinds.ts';
import {
  type AutoscalerClient,
  createAutoscalerCertificates,
  openAutoscalerClient,
} from '../../support/autoscaler-client.ts';
import { eventually } from '../../support/eventually.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const certificates = await createAutoscalerCertificates();
const numbers = [3140901, 3140902];
const open = startTestbed({
  subnet: '127.42.208',
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: { network: '127.42.209', servers: numbers.map((number) => ({ number })), limits: { 'POST /reset': 500 } },
  },
  provider: { autoscaler: { address: { host: '127.0.0.1', port: 0 }, folder: certificates.folder } },
});
const bare: NamespacedRef = { namespace: 'shop', name: 'bare' };
const id = nodePoolName(bare, 'work');
let client: AutoscalerClient;

const instances = async () => (await client.nodeGroupNodes({ id })).instances;
const maxSize = async () => (await client.nodeGroups({})).nodeGroups.find((group) => group.id === id)?.maxSize;

prepareTestbed(open, async (testbed) => {
  const robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const number of numbers) await robot.host(number);
  const pool = { name: 'work', replicas: 0, minReplicas: 0, maxReplicas: 3, size: 'small' };
  await robot.config('metal', {
    controlPlanes: 1,
    change: (spec) => void Object.assign(spec, { workerPools: [pool] }),
  });
  await testbed.objects.cluster(bare, { config: 'metal' });
  const isReady = async () => (await testbed.objects.getCluster(bare)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 170);
});

beforeAll(async () => {
  const line = open().provider.lines.find((one) => one.includes('serving over mutual TLS')) ?? '{}';
  const { address = '' } = JSON.parse(line) as { address?: string };
  client = openAutoscalerClient(address, certificates.authority.ca, await certificates.client('cluster://shop/bare'));
});
afterAll(async () => {
  client?.close();
  await rm(certificates.folder, { recursive: true });
});

it('D59: the largest size is that of the free Hosts, and more is refused with the remedy', async () => {
  expect(await maxSize()).toBe(1);
  const error = await client
    .nodeGroupIncreaseSize({ id, delta: 2 })
    .catch((reason: unknown) => ConnectError.from(reason));
  expect(error).toMatchObject({
    code: Code.ResourceExhausted,
    rawMessage: expect.stringMatching(
      /can have 1 more nodes, not 2: 1 Hosts of the size small for workers are free\. Add/,
    ),
  });
});

it('D57: a server that is claimed has the id of its Node before there is one', async () => {
  await client.nodeGroupIncreaseSize({ id, delta: 1 });
  const claimed = await eventually('it is claimed', async () =>
    (await instances()).find((one) => one.id.startsWith('hetzner-robot://')),
  );
  expect(claimed.status?.instanceState).toBe(State.CREATING);
  await eventually('it runs', async () => (await instances())[0]?.status?.instanceState === State.RUNNING, 170);
  const nodes = await withAdminClient(open(), bare, async (admin) => (await admin.list(Node, {})).items);
  expect(nodes.map(({ spec }) => spec?.providerID)).toContain(claimed.id);
  const [machine] = (await open().objects.machines(bare)).filter(({ spec }) => spec.pool === 'work');
  await eventually('it is ready', async () => {
    const { status } =
      (await open().objects.machines(bare)).find(({ metadata }) => metadata.name === machine?.metadata.name) ?? {};
    return isConditionTrue(status?.conditions, 'Ready');
  });
  expect(await maxSize()).toBe(1);
});

it('D59: a Machine that waits for a Host is an error of this kind, and is taken back by the id of its instance', async () => {
  // A user asks for more than the autoscaler may.
  await open().platform.merge(NodePool, { name: id }, { spec: { replicas: 2 } });
  const waiting = await eventually('it says so', async () =>
    (await instances()).find(({ status }) => status?.errorInfo?.errorCode === 'HostShort'),
  );
  expect(waiting.id).toMatch(/^machine:\/\//);
  expect(waiting.status?.errorInfo?.instanceErrorClass).toBe(1);
  await client.nodeGroupDeleteNodes({ id, nodes: [{ name: waiting.id, providerId: waiting.id }] });
  await eventually('one is left', async () => (await instances()).length === 1);
  expect((await instances())[0]?.id).toMatch(/^hetzner-robot:/);
  expect((await client.nodeGroupTargetSize({ id })).targetSize).toBe(1);
  expect(open().faults()).toEqual([]);
});
