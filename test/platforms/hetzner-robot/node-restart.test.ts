import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openTalosClient, type TalosClient } from '../../../src/talos/client/client.ts';
import { createTalosCredentials } from '../../../src/talos/secrets/client-credentials.ts';
import type { SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import type { BootActivation, BootConfigKind } from '../../world/robot/state.ts';
import { worldSeconds } from '../../world/robot/world-time.ts';
import { claimServer, joinAsNode, newSecrets, type ProvisionedServer, seedWithTalos } from './node-fixture.ts';
import {
  describeVerdict,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  type RobotProviderProcess,
} from './robot-platform-fixture.ts';

const numbers = Array.from({ length: 10 }, (_, index) => 3140601 + index);
let fixture: RobotPlatformFixture;
let life: RobotProviderProcess;
let nextIndex = 0;
let secrets: SecretsBundle;
const quick = { timeout: 20_000, interval: 5 };

beforeAll(async () => {
  const servers = numbers.map((number) => ({ number, name: 'rack-7', ...seedWithTalos }));
  fixture = await openRobotPlatformFixture({ network: '127.42.163', servers }, 0.01);
  secrets = await newSecrets();
  fixture.cluster = secrets;
  life = fixture.start();
});
afterEach(() => fixture.switchboard.clear());
afterAll(async () => await fixture?.close());

/** Adds a server that is a node. */
async function newNode() {
  const number = numbers[nextIndex] ?? Number.NaN;
  nextIndex += 1;
  const held = await claimServer(fixture, life, number);
  await joinAsNode(fixture, life, held);
  return { held, server: fixture.simulator.server(number).machine };
}

/** Arms a boot, as another manager of the account does. */
function armByOthers(number: number, kind: BootConfigKind): BootActivation {
  const at = worldSeconds(fixture.simulator.robot);
  const activation = { kind, system: 'linux', keys: [], password: 'of-others', at };
  fixture.simulator.server(number).activation = activation;
  return activation;
}

const resets = (): number => fixture.simulator.calls()['POST /reset'] ?? 0;
const restarts = (): number => fixture.switchboard.calls.filter(({ name }) => /\/Reboot$/.test(name)).length;

/** Releases the server; returns its resets and restarts. */
async function release(
  { number, machine, durable }: ProvisionedServer,
  process = life,
): Promise<readonly [number, number]> {
  const [resetsBefore, restartsBefore] = [resets(), restarts()];
  expect(describeVerdict(await process.walk('release', machine, durable))).toBe('finished');
  expect(fixture.simulator.servers().find((server) => server.number === number)).toMatchObject({
    ...{ phase: 'rescue', name: 'rack-7', armed: undefined },
  });
  expect(fixture.hosts.of(number)).toMatchObject({ state: 'Available', heldBy: undefined });
  return [resets() - resetsBefore, restarts() - restartsBefore];
}

it('H14: a node restarts itself into the rescue system: no reset', async () => {
  const { held } = await newNode();
  expect(await release(held)).toEqual([0, 1]);
  expect(held.durable.progress?.facts).toMatchObject({ rescueByNode: true, rescueResets: 0 });
});

it('through the firmware: a kexec reboot would skip the armed rescue', async () => {
  const { held, server } = await newNode();
  const address = String(held.durable.progress?.facts['address']);
  const credentials = createTalosCredentials(secrets, fixture.clock);
  const ask = async <T>(work: (talos: TalosClient) => Promise<T>): Promise<T> => {
    const talos = openTalosClient({ address, credentials });
    return await work(talos).finally(() => talos.close());
  };
  const [bootId, { bootCount }] = [await ask((talos) => talos.bootId()), server];
  const activation = armByOthers(held.number, 'rescue');
  await ask((talos) => talos.reboot('kernel'));
  const isAnother = async (): Promise<boolean> => (await ask((talos) => talos.bootId()).catch(() => bootId)) !== bootId;
  await expect.poll(isAnother, quick).toBe(true);
  expect([server.bootCount, server.phase, fixture.simulator.server(held.number).activation]).toEqual([
    ...[bootCount, 'talos', activation],
  ]);
  await ask((talos) => talos.reboot('firmware'));
  await expect.poll(() => server.phase, quick).toBe('rescue');
});

it('a node that does not answer: a reset', async () => {
  const { held, server } = await newNode();
  server.hang();
  expect(await release(held)).toEqual([1, 0]);
});

it('a node that rejects the call: a reset', async () => {
  const { held } = await newNode();
  fixture.switchboard.fail('talos', /\/Reboot$/, { kind: 'error', code: 'FailedPrecondition', body: 'locked' });
  expect(await release(held)).toEqual([1, 1]);
});

it('a node that accepts and hangs during shutdown: a reset, after a timeout', async () => {
  const { held, server } = await newNode();
  const at = { approved: Number.NaN, reset: Number.NaN };
  const hush = fixture.switchboard.onCall(({ name }) => {
    const now = fixture.clock.monotonic() / 1000;
    if (/^POST \/reset/.test(name)) at.reset = now;
    if (!/\/Reboot$/.test(name)) return;
    at.approved = now;
    void fixture.clock.sleep(20_000).then(() => server.hang());
  });
  expect(await release(held)).toEqual([1, 1]);
  hush();
  expect(at.reset - at.approved).toBeGreaterThan(290);
  expect(held.durable.progress?.facts).toMatchObject({ rescueResets: 1 });
});

it('a node of another cluster at that address: no call, but a reset', async () => {
  const { held } = await newNode();
  fixture.cluster = await newSecrets();
  expect(await release(held)).toEqual([1, 0]);
  fixture.cluster = secrets;
});

/** A node whose provider is killed during its restart call; `isHeard`: whether the call arrives. */
async function killWhileRestarting(isConnected: boolean) {
  const node = await newNode();
  const process = fixture.start();
  const kill = (): Fault => {
    void process.kill();
    return { kind: 'drop' };
  };
  const hush = fixture.switchboard.judge(({ name }) => {
    if (!/\/Reboot$/.test(name)) return undefined;
    return isConnected ? { kind: 'lose-reply', meanwhile: kill } : kill();
  });
  await expect(process.walk('release', node.held.machine, node.held.durable)).rejects.toThrow();
  hush();
  expect(node.held.durable.progress).toMatchObject({ step: 'leftovers-reset', facts: { rescueByNode: true } });
  return node;
}

it.each([
  ['before the call arrived at the node', false],
  ['before it recorded the reply of the node', true],
])('P3: killed %s: another process continues, and no reset is needed', async (_, isConnected) => {
  const { held } = await killWhileRestarting(isConnected);
  expect(await release(held, fixture.start())).toEqual([0, 1]);
});

it('killed until after the boot of the rescue system: it is found, and no node is called any more', async () => {
  const { held, server } = await killWhileRestarting(true);
  await expect.poll(() => server.phase, quick).toBe('rescue');
  expect(await release(held, fixture.start())).toEqual([0, 0]);
});

it('killed during a foreign arming of an installation: the node is not restarted into it', async () => {
  const { held, server } = await killWhileRestarting(false);
  const { bootCount } = server;
  await fixture.clock.sleep(15_000);
  armByOthers(held.number, 'linux');
  const before = restarts();
  const refused = await fixture.start().walk('release', held.machine, held.durable);
  expect(describeVerdict(refused)).toMatch(/^InstallerArmed: .*linux/);
  expect([server.bootCount, server.phase, restarts() - before]).toEqual([bootCount, 'talos', 0]);
});
