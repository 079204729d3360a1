import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../src/talos/gen/machine_pb.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { ClusterRequest } from '../../world/operator/cluster-request.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import type { RunningSimulator, SimulatorOptions } from '../../world/simulator.ts';
import { simulators } from '../../world/simulators.ts';
import { startTalosTestBed, type TestClient } from '../talos/testing/talos-test-bed.ts';
import { awaitBootFromDisk, startTestCluster } from '../talos/testing/test-cluster.ts';
import { RawClient } from '../truenas/testing/true-nas-fixture.ts';

/** A simulator with an object that can be written and read, as by a client of the real service. */
interface FaultSubject {
  restart(): Promise<void>;
  write(name: string): Promise<unknown>;
  has(name: string): Promise<boolean>;
}

const switchboard = new CallInterceptor();
const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  switchboard.clear();
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(name: string, change: Partial<SimulatorOptions> = {}): Promise<RunningSimulator> {
  const folder = await mkdtemp(join(tmpdir(), 'faults-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const home = join(folder, name);
  await mkdir(home);
  const runner = { start: () => Promise.reject(new Error('no machines here')) as never };
  const clock = new ScaledClock(0.001);
  const place = { host: '127.0.0.1', port: 0, folder: home, clock, switchboard, runner, extra: {} };
  const simulator = await simulators.find((one) => one.name === name)!.start({ ...place, ...change });
  closers.push(() => simulator.close());
  return simulator;
}

function kubeClient(kubeconfig: string): KubeClient {
  const client = new KubeClient(new Transport(loadApiServerConnection({ path: kubeconfig })), {
    fieldManager: 'tests',
  });
  closers.push(() => client.close());
  return client;
}

async function kube(): Promise<FaultSubject> {
  const simulator = await start('kube');
  const client = kubeClient(simulator.line.credentials['kubeconfig'] ?? '');
  return {
    restart: async () => await simulator.restart?.(),
    write: (name) => client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
    has: async (name) => (await client.find(Namespace, { name })) !== undefined,
  };
}

async function imageFactory(): Promise<FaultSubject> {
  const simulator = await start('image-factory');
  const bodyOf = (name: string) => `customization:\n  extraKernelArgs: [${name}]\n`;
  const ids = new Map<string, string>();
  const post = async (name: string): Promise<string> => {
    const answer = await fetch(`${simulator.line.url}/schematics`, { method: 'POST', body: bodyOf(name) });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as { id: string }).id;
  };
  // The id is derived from the content: another factory computes the expected one.
  const other = await start('image-factory');
  const idOf = async (name: string) => {
    const answer = await fetch(`${other.line.url}/schematics`, { method: 'POST', body: bodyOf(name) });
    return ((await answer.json()) as { id: string }).id;
  };
  for (const name of ['one', 'two']) ids.set(name, await idOf(name));
  return {
    restart: async () => await simulator.restart?.(),
    write: post,
    has: async (name) => (await fetch(`${simulator.line.url}/schematics/${ids.get(name)}`)).ok,
  };
}

async function truenas(): Promise<FaultSubject> {
  const simulator = await start('truenas');
  const ca = await readFile(simulator.line.ca ?? '', 'utf8');
  const { user: username, apiKey } = simulator.line.credentials;
  const call = async (method: string, ...params: unknown[]) => {
    const client = await RawClient.open(simulator.line.url, ca);
    try {
      await client.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username, api_key: apiKey });
      return await client.call(method, ...params);
    } finally {
      client.close();
    }
  };
  return {
    restart: async () => await simulator.restart?.(),
    write: (name) => call('vm.create', { name, memory: 512 }),
    has: async (name) => (await call('vm.query', [['name', '=', name]], { count: true })) === 1,
  };
}

async function robot(): Promise<FaultSubject> {
  const simulator = await start('robot', { seed: { servers: [{ number: 1 }, { number: 2 }] } });
  const { user, password } = simulator.line.credentials;
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const dispatcher = new Agent({ connect: { ca: await readFile(simulator.line.ca ?? '', 'utf8') } });
  closers.push(() => dispatcher.destroy());
  const ask = async (method: 'GET' | 'POST', path: string, body?: string) => {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await request(`${simulator.line.url}${path}`, {
      method,
      headers,
      dispatcher,
      ...(body && { body }),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(text);
    return JSON.parse(text);
  };
  return {
    restart: async () => await simulator.restart?.(),
    write: (name) => ask('POST', `/server/${name === 'one' ? 1 : 2}`, `server_name=${name}`),
    has: async (name) =>
      (await ask('GET', '/server')).some((one: { server: { server_name: string } }) => one.server.server_name === name),
  };
}

const hostNumbers: Readonly<Record<string, number>> = { one: 1, two: 2 };

async function readConfig({ state }: TestClient): Promise<string> {
  const request = { namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' };
  const { resource } = await state.get(request);
  return String(parse(resource?.spec?.yamlSpec ?? ''));
}

async function talos(): Promise<FaultSubject> {
  const cluster = await startTestCluster('one', {}, () => startTalosTestBed(0.001, { switchboard }));
  await awaitBootFromDisk(cluster);
  return {
    restart: async () => {
      await cluster.again();
      await awaitBootFromDisk(cluster);
    },
    write: async (name) => {
      const client = await cluster.client();
      const text = `${await readConfig(client)}---\napiVersion: v1alpha1\nkind: StaticHostConfig\nname: 192.0.2.${hostNumbers[name]}\nhostnames: [${name}]\n`;
      return await client.machine.applyConfiguration({ data: Buffer.from(text), mode: Mode.NO_REBOOT });
    },
    has: async (name) => (await readConfig(await cluster.client())).includes(`[${name}]`),
  };
}

describe.each([
  ['kube', kube, /^POST .*namespaces$/],
  ['image-factory', imageFactory, /^POST \/schematics$/],
  ['truenas', truenas, /^vm\.create$/],
  ['robot', robot, /^POST \/server\/\{n\}$/],
  ['talos', talos, /MachineService\/ApplyConfiguration$/],
] as const)('the simulator %s with faults', (name, enter, call) => {
  it.each([
    ['before the work is done', { kind: 'drop' }, false],
    ['after the work was done', { kind: 'lose-reply' }, true],
    ['after silence, and the work was not done', { kind: 'silence', milliseconds: 150, done: false }, false],
    ['after silence, and the work was done', { kind: 'silence', milliseconds: 150, done: true }, true],
  ] as const)('ends the connection %s', async (_, fault, done) => {
    const subject = await enter();
    switchboard.fail(name, call, fault);
    const started = performance.now();
    await expect(subject.write('one')).rejects.toThrow();
    if ('milliseconds' in fault) expect(performance.now() - started).toBeGreaterThanOrEqual(fault.milliseconds - 1);
    expect(await subject.has('one')).toBe(done);
  });

  it('reports the moment when the work is done whose reply is lost', async () => {
    const subject = await enter();
    let told = 0;
    const meanwhile = () => {
      told += 1;
    };
    switchboard.fail(name, call, { kind: 'lose-reply', meanwhile });
    await expect(subject.write('one')).rejects.toThrow();
    expect(told).toBe(1);
    expect(await subject.has('one')).toBe(true);
  });

  it('applies the fault that a judge chooses for a call', async () => {
    const subject = await enter();
    const asked: string[] = [];
    const leave = switchboard.judge((one) => {
      if (one.simulator !== name || !call.test(one.name)) return undefined;
      asked.push(one.name);
      return asked.length === 1 ? { kind: 'error' } : undefined;
    });
    await expect(subject.write('one')).rejects.toThrow();
    await subject.write('one');
    leave();
    await subject.write('two');
    expect(asked).toHaveLength(2);
    expect(await subject.has('one')).toBe(true);
  });

  it('answers late, and other calls meanwhile', async () => {
    const subject = await enter();
    const before = performance.now();
    await subject.has('two');
    // Longer than other calls take on a slow machine.
    const milliseconds = Math.ceil(200 + 10 * (performance.now() - before));
    switchboard.fail(name, call, { kind: 'late', milliseconds });
    const order: string[] = [];
    const arrived = new Promise<void>((resolve) => {
      const stop = switchboard.onCall((one) => {
        if (one.simulator === name && call.test(one.name)) resolve(stop());
      });
    });
    const started = performance.now();
    const late = subject.write('one').then(() => order.push('late'));
    await arrived;
    await subject.has('two').then(() => order.push('other'));
    await late;
    expect(performance.now() - started).toBeGreaterThanOrEqual(milliseconds - 1);
    expect(order).toEqual(['other', 'late']);
  });

  it('answers an error instead of the work, as often as requested', async () => {
    const subject = await enter();
    switchboard.fail(name, call, { kind: 'error' }, 2);
    await expect(subject.write('one')).rejects.toThrow();
    await expect(subject.write('one')).rejects.toThrow();
    expect(await subject.has('one')).toBe(false);
    await subject.write('one');
    expect(await subject.has('one')).toBe(true);
  });

  it('restarts and keeps what was written', async () => {
    const subject = await enter();
    await subject.write('one');
    await subject.restart();
    // The first call may still use a connection from before the restart.
    expect(await subject.has('one').catch(() => subject.has('one'))).toBe(true);
    await subject.write('two');
    expect(await subject.has('two')).toBe(true);
  });
});

describe('the simulator operator', () => {
  it('restarts and handles what changed meanwhile', async () => {
    const platform = await start('kube');
    const kubeconfig = platform.line.credentials['kubeconfig'] ?? '';
    const operator = await start('operator', { extra: { kubeconfig } });
    const client = kubeClient(kubeconfig);
    const phase = async (name: string) =>
      (await client.get(ClusterRequest, { namespace: 'default', name })).status?.phase;
    const request = (name: string) =>
      client.create(ClusterRequest, {
        apiVersion: 'clusters.openmcp.cloud/v1alpha1',
        kind: 'ClusterRequest',
        metadata: { namespace: 'default', name },
        spec: { purpose: 'test' },
      });
    await request('before');
    await expect.poll(() => phase('before'), { timeout: 10_000 }).toBe('Granted');
    await operator.restart?.();
    await request('after');
    await expect.poll(() => phase('after'), { timeout: 10_000 }).toBe('Granted');
  });
});
