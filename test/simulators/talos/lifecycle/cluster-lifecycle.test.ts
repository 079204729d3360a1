import { Code, ConnectError } from '@connectrpc/connect';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MachineDescription, RunningMachine } from '../../../world/machine-runner/machine.ts';
import { clientAuth, issueLeaf, type LeafCertificate } from '../../../world/talos/certificates/pki.ts';
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

/** Three control planes behind a virtual IP, and a worker. */
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
  const isInstalled = async (name: string) => {
    const isFromDisk = world.runner.node(name)?.console.some((line) => line.includes('from disk'));
    return isFromDisk && (await of(name).machine.version({})).messages.length > 0;
  };
  const members = async (name: string) => (await of(name).machine.etcdMemberList({})).messages[0]?.members ?? [];

  /** The status of a request to the API server behind an address, as the administrator. */
  const kube = async (host: string, path: string): Promise<number> => {
    const { pem: ca } = secrets.kubernetes.authority;
    const dispatcher = new Agent({ connect: { ca, cert: admin.cert, key: admin.key }, headersTimeout: 5000 });
    try {
      const { statusCode, body } = await request(`https://${host}:6443${path}`, { dispatcher });
      await body.dump();
      return statusCode;
    } finally {
      await dispatcher.destroy();
    }
  };

  it('waits for the bootstrap: no etcd, no API server, no virtual IP', async () => {
    for (const name of names) await waitUntilDefined(`${name} to run from disk`, () => isInstalled(name));
    const asked = of('cp-0').machine.etcdMemberList({ queryLocal: true }, { timeoutMs: 300 });
    expect((await errorOf(asked)).code, 'it hangs').toBe(Code.DeadlineExceeded);
    await expect(kube(vip, '/version')).rejects.toThrow(/ECONNREFUSED/);
    const on = await of('worker-0')
      .machine.bootstrap({})
      .catch((reason: unknown) => ConnectError.from(reason).code);
    expect(on).toBe(Code.Unimplemented);
  });

  it('joins all control planes to one etcd', async () => {
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
  });

  it('keeps the virtual IP when its holder is lost, and answers nothing without a majority', async () => {
    running.get('cp-0')?.kill();
    await running.get('cp-0')?.exited;
    const answer = await waitUntilDefined('the virtual address', async () =>
      (await kube(vip, '/version')) === 200 ? true : undefined,
    );
    expect(answer).toBe(true);
    running.get('cp-1')?.kill();
    await running.get('cp-1')?.exited;
    const status = await kube(machineAddress('cp-2'), '/api/v1/nodes').catch(() => 0);
    expect(status).not.toBe(200);
    for (const name of ['cp-0', 'cp-1']) running.set(name, world.start(machines.get(name) as MachineDescription));
    for (const name of names) await ready(name);
    expect(await kube(vip, '/api/v1/nodes')).toBe(200);
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
});
