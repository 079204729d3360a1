import { closeSync, openSync, readSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { commitSeed } from '../../support/commit-seed.ts';
import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { InMemoryHosts } from './in-memory-hosts.ts';
import {
  describeVerdict,
  type InstallationHosts,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  type RobotProviderProcess,
} from './robot-platform-fixture.ts';

/** An external call at which the process is killed, and the step that makes it. */
interface CrashPoint {
  readonly plan: 'provision' | 'release';
  readonly step: string;
  readonly name: string;
  /** Index of the call among equal ones: the first or the second. */
  readonly nth: number;
}

/** The test of one server: kills during its provisioning and during its release. */
interface CrashCase {
  readonly number: number;
  readonly making: CrashPoint;
  readonly takingBack: CrashPoint;
  /** The call takes effect, and its reply is lost. Otherwise it does not arrive. */
  readonly isDone: boolean;
  /** After the first crash the machine is deleted. */
  readonly givesUp: boolean;
  readonly at: InstallationHosts;
}

/** The Host of one server: each machine gets its own. */
function hostOf(number: number): InstallationHosts {
  const hosts = new InMemoryHosts();
  hosts.add(number, { protectedDisks: [`KEEP${number}`] });
  return { name: 'installation-1', hosts };
}

/**
 * A whole lifecycle takes seconds, and there are about hundred of them: one in `share` runs, selected by a seed that a
 * failure names. With ROBOT_CRASHES=all, every one, which takes four minutes; with ROBOT_CRASHES=<number>, those of
 * that seed.
 */
const crashSelection = process.env['ROBOT_CRASHES'];
// Not a divisor of the number of cases for each call, so that every seed covers every kind of case.
const share = 5;
const seed = crashSelection === undefined ? commitSeed % share : crashSelection;
const perBatch = 6;
const maximumServers = 120;
const firstNumber = 3140301;
const recordedServer = 3140300;
/** More than the calls of a lifecycle; at most two kills for each repeated call. */
const maximumPerCall = 2;

let fixture: RobotPlatformFixture;
let crashCases: readonly CrashCase[];
/** Calls of a booting machine, not of the provider. */
const ofMachines = 'boot';
/** Server numbers of all kills. */
const kills: number[] = [];
const rootOf = (number: number): string => `ROOT${number}`;

beforeAll(async () => {
  const servers = [recordedServer, ...Array.from({ length: maximumServers }, (_, index) => firstNumber + index)].map(
    (number) => ({
      number,
      disks: [{ serial: rootOf(number) }, { serial: `KEEP${number}`, content: { kind: 'ext4' } }],
    }),
  );
  const limits = {
    'GET /server': 5000,
    'POST /server': 5000,
    'POST /reset': 5000,
    'POST /boot': 5000,
    'POST /key': 5000,
  };
  fixture = await openRobotPlatformFixture({ network: '127.42.154', limits, servers });
  crashCases = await planCrashCases();
}, 120_000);
afterAll(async () => await fixture?.close());

/** All cases: every call of the provisioning, with and without its effect, and as often with a deletion afterwards. */
async function planCrashCases(): Promise<readonly CrashCase[]> {
  const [making, takingBack] = [await recordCalls('provision'), await recordCalls('release')];
  const all = making.flatMap((point) =>
    [true, false].flatMap((isDone) => [true, false].map((givesUp) => ({ point, isDone, givesUp }))),
  );
  return all
    .map(({ point, ...rest }, index) => ({
      ...rest,
      making: point,
      takingBack: takingBack[index % takingBack.length] ?? point,
      number: firstNumber + index,
      at: hostOf(firstNumber + index),
    }))
    .filter((_, index) => seed === 'all' || index % share === Number(seed) % share);
}

const recordedLife: MachineRecord = { progress: undefined };
const recordedInstallation = hostOf(recordedServer);

async function recordCalls(plan: CrashPoint['plan']): Promise<readonly CrashPoint[]> {
  const points = new Map<string, CrashPoint>();
  const hush = fixture.switchboard.onCall(({ simulator, name }) => {
    if (simulator === ofMachines) return;
    const step = recordedLife.progress?.step ?? '';
    const nth = [...points.values()].filter((one) => one.step === step && one.name === kindOf(name)).length;
    const point = { plan, step, name: kindOf(name), nth };
    if (nth < maximumPerCall) points.set(JSON.stringify(point), point);
  });
  expect(
    describeVerdict(await fixture.start(recordedInstallation).walk(plan, `shop-${recordedServer}`, recordedLife)),
  ).toBe('finished');
  hush();
  return [...points.values()];
}

/** Commands differ in their content, images in their URL. */
const kindOf = (name: string): string => (name.startsWith('ssh') ? 'ssh' : name.replace(/^(GET \/image).*/, '$1'));

/** The server that a call concerns, where the call names it. */
function serverOf({ simulator, detail }: InterceptedCall): number | undefined {
  const { server, node = '' } = (detail ?? {}) as { server?: string | number; node?: string };
  if (simulator === 'talos') return Number(node.replace('robot-', ''));
  return server === undefined ? undefined : Number(server);
}

/**
 * Runs the steps with a process that is killed at `point`, then with another one. Returns whether the first was killed.
 */
async function runWithCrash(
  course: CrashCase,
  point: CrashPoint,
  durable: MachineRecord,
  next: CrashPoint['plan'],
): Promise<string> {
  const first: RobotProviderProcess = fixture.start(course.at);
  let seen = 0;
  const isThere = (call: InterceptedCall): boolean => {
    const owner = serverOf(call);
    const { step, plan } = durable.progress ?? {};
    if (call.simulator === ofMachines || first.stop.signal.aborted || (owner !== undefined && owner !== course.number))
      return false;
    // The provider does not upload a key that the account already has.
    if (point.name === 'POST /key' && owner !== undefined) fixture.simulator.robot.accounts[0]?.keys.clear();
    return plan === point.plan && step === point.step && kindOf(call.name) === point.name && seen++ === point.nth;
  };
  const hush = fixture.switchboard.judge((call): Fault | undefined => {
    if (!isThere(call)) return undefined;
    if (course.isDone) return { kind: 'lose-reply', meanwhile: () => void first.kill() };
    void first.kill();
    return { kind: 'drop' };
  });
  const machine = `shop-${course.number}`;
  const end = await first.walk(point.plan, machine, durable).then(describeVerdict, () => 'killed');
  hush();
  if (end === 'killed') kills.push(course.number);
  // A process with fewer calls than in the rehearsal has finished.
  if (end !== 'killed' && next === point.plan) return end;
  const second = fixture.start(course.at);
  const verdict = describeVerdict(await second.walk(next, machine, durable));
  await second.kill();
  return verdict;
}

const resetsOf = (number: number): number =>
  fixture.switchboard.calls.filter((call) => call.name === 'POST /reset/{n}' && serverOf(call) === number).length;
const summaryOf = (number: number) => fixture.simulator.servers().find((server) => server.number === number);

/** The first bytes of the chosen disk, as stored. */
function diskStart(number: number): Buffer {
  const disk = fixture.simulator
    .server(number)
    .machine.box.hardware.disks.find(({ serial }) => serial === rootOf(number));
  const head = Buffer.alloc(2 ** 20);
  const file = openSync(disk?.path ?? '', 'r');
  readSync(file, head, 0, head.length, 0);
  closeSync(file);
  return head;
}

async function runLife(course: CrashCase): Promise<void> {
  const { number, making, takingBack, isDone, givesUp, at } = course;
  const durable: MachineRecord = { progress: undefined };
  const where = `seed ${seed}: ${JSON.stringify({ making, takingBack, isDone, givesUp })}`;
  if (givesUp) {
    expect(await runWithCrash(course, making, durable, 'release'), where).toBe('finished');
  } else {
    expect(await runWithCrash(course, making, durable, 'provision'), where).toBe('finished');
    expect(summaryOf(number), where).toMatchObject({
      phase: 'talos',
      name: expect.stringMatching(new RegExp(`^cpt\\..*\\.shop-${number}$`)),
      armed: undefined,
    });
    expect(at.hosts.of(number), where).toMatchObject({ state: 'Provisioned', heldBy: `shop-${number}` });
    expect(resetsOf(number), where).toBeLessThanOrEqual(2);
    expect(await runWithCrash(course, takingBack, durable, 'release'), where).toBe('finished');
  }
  expect(summaryOf(number), where).toMatchObject({ name: '', armed: undefined });
  expect(summaryOf(number)?.phase, where).not.toBe('talos');
  expect(at.hosts.of(number), where).toMatchObject({ state: 'Available', heldBy: undefined });
  expect(diskStart(number).equals(Buffer.alloc(2 ** 20)), `${where}: the disk is blank`).toBe(true);
  expect(resetsOf(number), where).toBeLessThanOrEqual(4);
  const serials = fixture.simulator.writes(number).map(({ serial }) => serial);
  expect(new Set([...serials, rootOf(number)]), where).toEqual(new Set([rootOf(number)]));
}

it('killed at any call of provisioning or of release, it has the same result', async () => {
  for (let at = 0; at < crashCases.length; at += perBatch) {
    await Promise.all(crashCases.slice(at, at + perBatch).map(runLife));
  }
  expect(crashCases.length).toBeGreaterThan(12);
  expect(kills.length).toBeGreaterThanOrEqual(crashCases.length);
  expect(fixture.simulator.lockouts()).toEqual([]);
  expect(fixture.simulator.forbiddenCalls()).toEqual([]);
}, 900_000);
