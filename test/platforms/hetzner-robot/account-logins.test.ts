import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hetznerRobot } from '../../../src/platforms/hetzner-robot/index.ts';
import { makeSshKey } from '../../world/robot/setup/ssh-key.ts';
import type { BootActivation, BootConfigKind } from '../../world/robot/state.ts';
import { createStoredSshKey } from '../../world/robot/webservice/endpoints/keys.ts';
import { worldSeconds } from '../../world/robot/world-time.ts';
import {
  describeVerdict,
  type InstallationHosts,
  installationWithServers,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  rescueKey,
} from './robot-platform-fixture.ts';

const numbers = Array.from({ length: 24 }, (_, index) => 3140501 + index);
const unusedNumbers = [...numbers];
const nextNumber = (): number => unusedNumbers.shift() ?? Number.NaN;

let fixture: RobotPlatformFixture;
beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.42.155',
    limits: { 'POST /reset': 500 },
    servers: numbers.map((number) => ({ number, disks: [{ serial: `ROOT${number}` }] })),
  });
});
// Robot counts wrong logins of the last ten minutes per source address, so each test starts at zero.
beforeEach(() => fixture.simulator.robot.strikes.clear());
afterAll(async () => await fixture?.close());

const newRecord = (): MachineRecord => ({ progress: undefined });
const summaryOf = (number: number) => fixture.simulator.servers().find((server) => server.number === number);
const resetsOf = (number: number): number =>
  fixture.switchboard.calls.filter(({ name, detail }) => name === 'POST /reset/{n}' && isOf(detail, number)).length;
const isOf = (detail: unknown, number: number): boolean => Number((detail as { server?: string })?.server) === number;
/** Writes to the server, without those of its own Talos to its own disk. */
const written = (number: number) => fixture.simulator.writes(number).filter(({ by }) => by !== 'talos');

/** Runs `mischief` right before the first such call about a server arrives. */
function beforeFirstCall(number: number, match: RegExp, mischief: () => void): void {
  const hush = fixture.switchboard.onCall(({ name, detail }) => {
    if (!match.test(name) || !isOf(detail, number)) return;
    hush();
    mischief();
  });
}

/** Arms a boot, as another manager of the account does. */
function armByOthers(number: number, kind: BootConfigKind, publicKey = makeSshKey().public): void {
  const server = fixture.simulator.server(number);
  const activation: BootActivation = {
    ...{ kind, system: 'linux', password: 'secret-of-others' },
    keys: [createStoredSshKey('others', publicKey, fixture.clock.now())],
    at: worldSeconds(fixture.simulator.robot),
  };
  server.activation = activation;
}

describe('credentials that are revoked during the work', () => {
  it('are retried once and never again, until the Secret has others', async () => {
    const [number, password] = [nextNumber(), 'other-password'];
    const process = fixture.start(installationWithServers([number]));
    const durable = newRecord();
    const refused = () => fixture.simulator.robot.strikes.get('127.0.0.1')?.failures.length ?? 0;
    beforeFirstCall(number, /^POST \/reset/, () => {
      // This call itself passed its login before.
      setTimeout(() => fixture.simulator.changePassword(password), 0);
    });
    const parked = await process.walk('provision', 'revoked', durable);
    expect(describeVerdict(parked)).toMatch(/^ROBOT_CREDENTIALS_REFUSED: .*Secret: robot/);
    expect(refused()).toBe(1);
    const calls = fixture.switchboard.calls.length;
    for (let again = 0; again < 5; again += 1) {
      expect(describeVerdict(await process.walk('provision', 'revoked', durable))).toMatch(
        /^ROBOT_CREDENTIALS_REFUSED/,
      );
    }
    expect(fixture.switchboard.calls.length).toBe(calls);
    fixture.login = { ...fixture.login, password };
    expect(describeVerdict(await process.walk('provision', 'revoked', durable))).toBe('finished');
    expect([refused(), fixture.simulator.lockouts(), resetsOf(number)]).toEqual([1, [], 1]);
  });

  it('lock no account, however many machines use them', async () => {
    const [fleet, password] = [[nextNumber(), nextNumber(), nextNumber(), nextNumber()], 'yet-another-password'];
    const process = fixture.start(installationWithServers(fleet));
    const durables = fleet.map(newRecord);
    const walkAll = async () =>
      await Promise.all(
        fleet.map((number, at) => process.walk('provision', `f-${number}`, durables[at] ?? newRecord())),
      );
    beforeFirstCall(fleet[3] ?? 0, /^POST \/boot/, () => fixture.simulator.changePassword(password));
    for (const verdict of await walkAll()) expect(describeVerdict(verdict)).toMatch(/^ROBOT_CREDENTIALS_REFUSED/);
    fixture.login = { ...fixture.login, password };
    for (const verdict of await walkAll()) expect(describeVerdict(verdict)).toBe('finished');
    expect(fixture.simulator.lockouts()).toEqual([]);
  });
});

describe('an account with two managers', () => {
  it('where the other arms rescue with another key right before our reset: it is armed again', async () => {
    const number = nextNumber();
    beforeFirstCall(number, /^POST \/reset/, () => armByOthers(number, 'rescue'));
    expect(
      describeVerdict(await fixture.start(installationWithServers([number])).walk('provision', 'rearmed', newRecord())),
    ).toBe('finished');
    expect([summaryOf(number)?.phase, resetsOf(number)]).toEqual(['talos', 2]);
  });

  it('where the other takes the server during the work: nothing is written to it, and its ownership mark stays', async () => {
    const number = nextNumber();
    const [process, durable] = [fixture.start(installationWithServers([number])), newRecord()];
    beforeFirstCall(number, /^ssh/, () => {
      fixture.simulator.server(number).name = 'cpt.aaaaaaaa.their-machine';
    });
    expect(describeVerdict(await process.walk('provision', 'robbed', durable))).toMatch(
      /^OwnedByOthers: .*their-machine/,
    );
    expect(describeVerdict(await process.walk('release', 'robbed', durable))).toBe('finished');
    expect([written(number), summaryOf(number)?.name]).toEqual([[], 'cpt.aaaaaaaa.their-machine']);
  });

  it('where the other marks it right after us: no earlier list proves our ownership', async () => {
    const number = nextNumber();
    const [process, durable] = [fixture.start(installationWithServers([number])), newRecord()];
    await process.walk('provision', 'outrun', durable, undefined, 'server-marked');
    fixture.simulator.server(number).name = 'bm-theirs';
    const look = hetznerRobot.provision.find(({ name }) => name === 'intent-recorded');
    const seen = await look?.run(process.context('outrun', durable.progress?.facts ?? {}));
    expect(seen).toMatchObject({ kind: 'fail', reason: 'OwnedByOthers' });
  });

  it('where the other takes it during our release: its ownership mark stays', async () => {
    const number = nextNumber();
    const [process, durable] = [fixture.start(installationWithServers([number])), newRecord()];
    expect(describeVerdict(await process.walk('provision', 'late', durable))).toBe('finished');
    beforeFirstCall(number, /^ssh/, () => {
      fixture.simulator.server(number).name = 'bm-theirs';
    });
    expect(describeVerdict(await process.walk('release', 'late', durable))).toBe('finished');
    expect(summaryOf(number)?.name).toBe('bm-theirs');
  });

  it('that want the same server at the same moment: one gets it, and the other is notified', async () => {
    const number = nextNumber();
    const walk = (other: InstallationHosts) => fixture.start(other).walk('provision', other.name, newRecord());
    const verdicts = await Promise.all(['one', 'two'].map((name) => walk(installationWithServers([number], {}, name))));
    const words = verdicts.map(describeVerdict).sort();
    expect(words).toEqual([expect.stringMatching(/^OwnedByOthers: /), 'finished']);
    expect(summaryOf(number)?.phase).toBe('talos');
  });
});

describe('a foreign armed installation', () => {
  const wiped = (number: number) => fixture.simulator.writes(number).filter(({ by }) => by.startsWith('install'));

  it('is not booted: the server is not touched', async () => {
    const number = nextNumber();
    armByOthers(number, 'linux', rescueKey.public);
    const verdict = await fixture.start(installationWithServers([number])).walk('provision', 'installer', newRecord());
    expect(describeVerdict(verdict)).toMatch(/^InstallerArmed: .*linux.*Cancel it/);
    expect([resetsOf(number), summaryOf(number)?.bootCount, wiped(number)]).toEqual([0, 1, []]);
  });

  it('between our arming and our reset is not booted, either, and the server is not touched until it is cancelled', async () => {
    const number = nextNumber();
    const [other, durable] = [installationWithServers([number]), newRecord()];
    const first = fixture.start(other);
    const hush = fixture.switchboard.judge(({ name, detail }) => {
      if (name !== 'POST /reset/{n}' || !isOf(detail, number)) return undefined;
      void first.kill();
      return { kind: 'drop' };
    });
    await expect(first.walk('provision', 'between', durable)).rejects.toThrow();
    hush();
    await fixture.clock.sleep(15_000);
    armByOthers(number, 'linux', rescueKey.public);
    const second = fixture.start(other);
    const refused = await second.walk('provision', 'between', durable);
    expect(describeVerdict(refused)).toMatch(/^InstallerArmed: .*linux.*Cancel it/);
    expect([summaryOf(number)?.bootCount, wiped(number)]).toEqual([1, []]);
    fixture.simulator.server(number).activation = undefined;
    expect(describeVerdict(await second.walk('provision', 'between', durable))).toBe('finished');
    expect([summaryOf(number)?.phase, wiped(number)]).toEqual(['talos', []]);
  });

  it('during our work in its rescue system is not booted, either, and rescue that another manager armed then is disarmed', async () => {
    const number = nextNumber();
    const [process, durable] = [fixture.start(installationWithServers([number])), newRecord()];
    expect(describeVerdict(await process.walk('provision', 'late', durable, undefined, 'boot-order-kept'))).toBe(
      'finished',
    );
    armByOthers(number, 'linux', rescueKey.public);
    const facts = durable.progress?.facts ?? {};
    durable.progress = {
      plan: 'provision',
      step: 'rescue-disarmed',
      since: new Date().toISOString(),
      failures: 0,
      facts,
    };
    expect(describeVerdict(await process.walk('provision', 'late', durable))).toMatch(/^InstallerArmed: /);
    expect(wiped(number)).toEqual([]);
    armByOthers(number, 'rescue');
    expect(describeVerdict(await process.walk('provision', 'late', durable))).toBe('finished');
    expect([summaryOf(number)?.phase, resetsOf(number), wiped(number)]).toEqual(['talos', 1, []]);
  });
});

it('a maintenance of Robot is waited for, and reported', async () => {
  const number = nextNumber();
  const [process, durable] = [fixture.start(installationWithServers([number])), newRecord()];
  beforeFirstCall(number, /^ssh/, () => fixture.simulator.setMaintenance(true));
  const waits = await process.walk(
    'provision',
    'low',
    durable,
    ({ progress, kind }) => progress.step === 'intent-recorded' && kind === 'waiting',
  );
  expect(waits).toMatchObject({ kind: 'waiting', message: expect.stringMatching(/temporarily unavailable/) });
  fixture.simulator.setMaintenance(false);
  expect(describeVerdict(await process.walk('provision', 'low', durable))).toBe('finished');
  expect([fixture.simulator.lockouts(), resetsOf(number)]).toEqual([[], 1]);
});
