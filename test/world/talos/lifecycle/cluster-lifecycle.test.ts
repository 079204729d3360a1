import { request } from 'node:https';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MachineDescription, RunningMachine } from '../../machine-runner/machine.ts';
import { clientAuth, issueLeaf, type LeafCertificate } from '../certificates/pki.ts';
import {
  connectTalos,
  makeConfig,
  makeSecrets,
  nextMac,
  startTalosTestBed,
  type TalosTestBed,
  type TestClient,
  type TestSecrets,
  waitUntilDefined,
} from '../testing/talos-test-bed.ts';
import { errorOf } from '../testing/test-cluster.ts';

/** Three control planes behind a virtual IP, and a worker: from discs to a cluster and back to empty machines. */
describe('a cluster', () => {
  const names = ['cp-0', 'cp-1', 'cp-2', 'worker-0'] as const;
  const machines = new Map<string, MachineDescription>();
  const running = new Map<string, RunningMachine>();
  const clients = new Map<string, TestClient>();
  let world: TalosTestBed;
  let secrets: TestSecrets;
  let admin: LeafCertificate;
  let vip: string;

  beforeAll(async () => {
    world = await startTalosTestBed(0.005);
    secrets = await makeSecrets();
    admin = await issueLeaf(secrets.kubernetes.authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usages: [clientAuth],
      hours: 1,
    });
    vip = world.address();
    for (const name of names) {
      const address = world.address();
      const role = name === 'worker-0' ? ('worker' as const) : ('controlplane' as const);
      const config = makeConfig({
        secrets,
        role,
        hostname: name,
        mac: nextMac(),
        address,
        vip,
        endpoint: `https://${vip}:6443`,
        factory: world.factory.place,
      });
      const machine = world.machine(name, { 'user-data': config, 'meta-data': 'instance-id: one\n' });
      machines.set(name, machine);
      running.set(name, world.start(machine));
      clients.set(name, await connectTalos(address, secrets));
    }
  });
  afterAll(async () => {
    for (const client of clients.values()) client.close();
    await world.close();
  });

  const of = (name: string): TestClient => clients.get(name) as TestClient;
  const ready = (name: string) =>
    waitUntilDefined(`${name} to be ready`, () => (world.runner.node(name)?.ready ? true : undefined), 30);
  const members = async (name: string) => (await of(name).machine.etcdMemberList({})).messages[0]?.members ?? [];

  /** One request to the API server behind an address, as the administrator. */
  const kube = (host: string, path: string, method = 'GET'): Promise<{ status: number; body: Record<string, never> }> =>
    new Promise((resolve, reject) => {
      const call = request(
        {
          host,
          port: 6443,
          path,
          method,
          ca: secrets.kubernetes.authority.pem,
          cert: admin.cert,
          key: admin.key,
          agent: false,
          timeout: 5000,
        },
        (answer) => {
          let text = '';
          answer.on('data', (chunk) => {
            text += chunk;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text || '{}') }));
        },
      );
      call.on('error', reject);
      call.end();
    });

  it('installs from the discs, each node with certificates of its own configuration', async () => {
    for (const name of names) {
      const tag = await waitUntilDefined(`${name} to answer from disk`, async () => {
        const node = world.runner.node(name);
        if (!node?.console.some((line) => line.includes('from disk'))) return undefined;
        return (await of(name).machine.version({})).messages[0]?.version?.tag;
      });
      expect(tag).toBe('v1.13.9');
    }
    expect(
      world.factory.paths.filter((path) => path.startsWith('/v2/nocloud-installer/')).length,
    ).toBeGreaterThanOrEqual(4);
  });

  it('waits for the bootstrap: no etcd, no API server, no virtual IP', async () => {
    const asked = of('cp-0').machine.etcdMemberList({ queryLocal: true }, { timeoutMs: 300 });
    expect((await errorOf(asked)).code, 'it hangs').toBe(Code.DeadlineExceeded);
    await expect(kube(vip, '/version')).rejects.toThrow(/ECONNREFUSED/);
    const on = await of('worker-0')
      .machine.bootstrap({})
      .catch((reason: unknown) => ConnectError.from(reason).code);
    expect(on).toBe(Code.Unimplemented);
  });

  it('joins all control planes to one etcd and all nodes to one Kubernetes', async () => {
    await waitUntilDefined('the bootstrap', () =>
      of('cp-0')
        .machine.bootstrap({})
        .catch((error: unknown) =>
          ConnectError.from(error).code === Code.FailedPrecondition ? undefined : Promise.reject(error),
        ),
    );
    for (const name of names) await ready(name);
    const list = await members('cp-1');
    expect(list.map((member) => member.hostname).sort()).toEqual(['cp-0', 'cp-1', 'cp-2']);
    expect(list.some((member) => member.isLearner)).toBe(false);
    const { body } = await kube(vip, '/api/v1/nodes');
    const nodes = (
      body as unknown as {
        items: { metadata: { name: string }; spec: { providerID: string; taints?: { key: string }[] } }[];
      }
    ).items;
    expect(nodes.map((node) => [node.metadata.name, node.spec.providerID])).toEqual(
      names.map((name) => [name, `world://${name}`]),
    );
    expect(nodes.map((node) => node.spec.taints?.[0]?.key)).toEqual([
      ...Array(3).fill('node-role.kubernetes.io/control-plane'),
      undefined,
    ]);
  });

  it('refuses clients without a certificate of its Kubernetes CA, also with one of its Talos CA', async () => {
    const foreign = await issueLeaf(secrets.os.authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usages: [clientAuth],
      hours: 1,
    });
    const real = admin;
    admin = foreign;
    try {
      const answer = await kube(vip, '/api/v1/nodes').catch(() => ({ status: 401 }));
      expect(answer.status).toBe(401);
    } finally {
      admin = real;
    }
  });

  it('names the static pods with the version of their configuration', async () => {
    const { body } = await kube(vip, '/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-apiserver');
    const pods = (body as unknown as { items: { metadata: { name: string; annotations: Record<string, string> } }[] })
      .items;
    expect(pods.map((pod) => pod.metadata.name)).toEqual([
      'kube-apiserver-cp-0',
      'kube-apiserver-cp-1',
      'kube-apiserver-cp-2',
    ]);
    expect(pods[0]?.metadata.annotations['talos.dev/config-version']).toBe('1');
  });

  it('keeps the virtual IP when its holder is lost, and answers nothing without a majority', async () => {
    running.get('cp-0')?.kill();
    await running.get('cp-0')?.exited;
    const answer = await waitUntilDefined('the virtual address', async () =>
      (await kube(vip, '/version')).status === 200 ? true : undefined,
    );
    expect(answer).toBe(true);
    running.get('cp-1')?.kill();
    await running.get('cp-1')?.exited;
    const status = await kube(machineAddress('cp-2'), '/api/v1/nodes').then(
      (reply) => reply.status,
      () => 0,
    );
    expect(status).not.toBe(200);
    for (const name of ['cp-0', 'cp-1']) running.set(name, world.start(machines.get(name) as MachineDescription));
    for (const name of names) await ready(name);
    expect((await kube(vip, '/api/v1/nodes')).status).toBe(200);
  });

  const machineAddress = (name: string): string => world.runner.node(name)?.addresses[0] ?? '';

  it('lets a control plane leave and rejoin with another member id', async () => {
    const before = (await members('cp-0')).find((member) => member.hostname === 'cp-2')?.id;
    const labels = ['STATE', 'EPHEMERAL'].map((label) => ({ label, wipe: true }));
    await of('cp-2').machine.reset({ graceful: true, reboot: true, systemPartitionsToWipe: labels });
    await waitUntilDefined('the member to be gone', async () =>
      (await members('cp-0')).length === 2 ? true : undefined,
    );
    const after = await waitUntilDefined(
      'the member to be back',
      async () => (await members('cp-0')).find((member) => member.hostname === 'cp-2' && !member.isLearner)?.id,
    );
    expect(after).not.toBe(before);
    await ready('cp-2');
  });

  it('powers off on the power button or on a reset', async () => {
    running.get('worker-0')?.pressPowerButton();
    await running.get('worker-0')?.exited;
    await of('cp-2').machine.reset({ graceful: false, reboot: false });
    await running.get('cp-2')?.exited;
    const again = world.start(machines.get('cp-2') as MachineDescription);
    const node = await waitUntilDefined(
      'a fresh installation',
      () => world.runner.node('cp-2')?.stage === 'installing',
    );
    expect(node).toBe(true);
    again.kill();
    await again.exited;
  });
});
