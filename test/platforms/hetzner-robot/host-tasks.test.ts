import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { advance, type Progress } from '../../../src/engine/advance.ts';
import { ProcessConnectionCache } from '../../../src/engine/connection-cache.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { hetznerRobot } from '../../../src/platforms/hetzner-robot/index.ts';
import { eventually } from '../../support/eventually.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import {
  failCommands,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  rescueKey,
} from './robot-platform-fixture.ts';

const numbers = [3140821, 3140822, 3140823, 3140824] as const;
const rebooted = 3140825;
const linux = { kind: 'linux', hostname: 'any', authorizedKeys: [], hetznerBuild: true };
let fixture: RobotPlatformFixture;
let connections: ProcessConnectionCache;

beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.43.69',
    servers: [...numbers.map((number) => ({ number })), { number: rebooted, disks: [{ content: linux }] }],
    limits: { 'POST /reset': 500 },
  });
  for (const number of [...numbers, rebooted]) fixture.hosts.add(number);
});
beforeEach(() => {
  connections = new ProcessConnectionCache();
});
afterAll(async () => {
  await connections.close();
  await fixture.close();
});

type Task = 'inspect' | 'reboot';

/** Runs a task of a Host to its end. `onSave`: when the record of its progress is written. */
async function run(plan: Task, number: number, onSave: (progress: Progress<Task>) => void = () => {}): Promise<void> {
  const { hosts, clock, config, login } = fixture;
  const { signal } = new AbortController();
  const address = fixture.simulator.server(number).machine.box.address ?? '';
  hosts.update(number, { server: { address, ipv6Net: '', product: '', location: '' } });
  const credentials = {
    username: new SecretString(login.user),
    password: new SecretString(login.password),
    sshPrivateKey: new SecretString(rescueKey.private),
  };
  let durable: Progress<Task> | undefined;
  for (let round = 0; round < 100; round += 1) {
    const verdict = await advance({
      ...{ plan, steps: hetznerRobot.hosts?.[plan] ?? [], progress: durable, clock, signal },
      context: (facts) => ({
        ...{ config: config as never, credentials, connections, log: noLog, clock, signal, facts },
        owner: { installation: 'installation-1', provider: 'talos', machine: '' },
        host: hosts.of(number),
        hostedServers: () => new Set([...numbers, rebooted].map(String)),
        updateStatus: async (change) => hosts.update(number, change),
        bootId: async () => (systemOf(number).phase === 'linux' ? systemOf(number).bootId : undefined),
      }),
      save: async (progress) => {
        onSave(progress);
        durable = structuredClone(progress);
      },
    }).catch((error: unknown) => {
      // The record could not be written: the next reconcile runs the step again.
      if (error instanceof LostWrite) return undefined;
      throw error;
    });
    if (verdict?.kind === 'finished') return;
    if (verdict?.kind === 'failed') throw new Error(`${verdict.reason}: ${verdict.message}`);
    if (verdict?.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
    await clock.sleep(Math.max(5, verdict?.seconds ?? 0) * 1000, signal);
  }
  throw new Error(`the task does not get through ${durable?.step}: ${JSON.stringify(durable?.facts)}`);
}

class LostWrite extends Error {}

/** The first record of this kind is not written. */
function loseOnce(which: (progress: Progress<Task>) => boolean) {
  const lost = {
    count: 0,
    onSave(progress: Progress<Task>): void {
      if (lost.count > 0 || !which(progress)) return;
      lost.count += 1;
      throw new LostWrite();
    },
  };
  return lost;
}

const systemOf = (number: number) => fixture.simulator.server(number).machine;

function expectInspected(number: number): void {
  expect(fixture.hosts.of(number).hardware?.disks.length).toBeGreaterThan(0);
  expect(systemOf(number).phase).not.toBe('rescue');
  expect(fixture.simulator.writes(number)).toEqual([]);
}

it.each<[string, number, Fault]>([
  ['whose reply is lost', numbers[0], { kind: 'lose-reply' }],
  ['that never arrives', numbers[1], { kind: 'drop' }],
])('ends after a reboot out of the rescue system %s', async (_, number, fault) => {
  failCommands(fixture, number, /exec reboot/, fault);
  await run('inspect', number);
  expectInspected(number);
});

it('ends when the server has rebooted and the record of that was not written', async () => {
  const [, , number] = numbers;
  const lose = loseOnce(({ finishedAt }) => finishedAt !== undefined);
  await run('inspect', number, lose.onSave);
  expect(lose.count).toBe(1);
  expectInspected(number);
});

it('enters the rescue system again when the server was rebooted before its hardware was recorded', async () => {
  const [, , , number] = numbers;
  let isReset = false;
  await run('inspect', number, ({ step }) => {
    if (step !== 'hardware-noted' || isReset) return;
    isReset = true;
    systemOf(number).reset('hw');
  });
  expect(isReset).toBe(true);
  expectInspected(number);
});

it('resets a server once, also if the record of that was not written', async () => {
  const resets = () => fixture.simulator.calls()['POST /reset'] ?? 0;
  await eventually('it runs', () => systemOf(rebooted).phase === 'linux');
  const [before, boots] = [resets(), systemOf(rebooted).bootCount];
  const lose = loseOnce(({ step }) => step === 'reboot-proven');
  await run('reboot', rebooted, lose.onSave);
  expect([lose.count, resets() - before, systemOf(rebooted).bootCount - boots]).toEqual([1, 1, 1]);
  expect(systemOf(rebooted).phase).toBe('linux');
});
