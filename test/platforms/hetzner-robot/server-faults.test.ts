import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostSpecView } from '../../../src/engine/host.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import { InMemoryHosts } from './in-memory-hosts.ts';
import {
  describeVerdict,
  failCommands,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  rescueKey,
} from './robot-platform-fixture.ts';

interface FaultCase {
  readonly title: string;
  readonly seed?: object;
  readonly words?: Partial<HostSpecView>;
  /** Runs before the steps. */
  readonly mischief?: (fixture: RobotPlatformFixture, number: number) => void;
  /** In place of `finished`. */
  readonly says?: RegExp;
  /** The number of resets, if more than one. */
  readonly resets?: number;
}

const linux = { kind: 'linux', hostname: 'rescue', authorizedKeys: [rescueKey.public], hetznerBuild: true };
const failing =
  (simulator: string, match: RegExp, fault: Fault, times = 1, skip = 0) =>
  ({ switchboard }: RobotPlatformFixture): void =>
    switchboard.fail(simulator, match, fault, times, skip);

const failingCommand =
  (words: RegExp, fault: Fault, times = 1) =>
  (fixture: RobotPlatformFixture, number: number): void =>
    failCommands(fixture, number, words, fault, times);
const [wipe, write, inspection] = [/\/wipe-[0-9a-f]{32}/, /\/write-[0-9a-f]{32}/, /report/];

const cases: readonly FaultCase[] = [
  { title: 'a rescue system that never came up is retried', seed: { board: { lostRescues: 1 } }, resets: 2 },
  {
    title: 'P8: a server that does not boot from the network fails after three resets',
    seed: { firmware: { order: [] } },
    says: /^RescueSilent: .*Network boot must be first/,
    resets: 3,
  },
  {
    title: 'P5: a foreign system with our key and the name does not count as rescue',
    seed: {
      firmware: { order: ['0003'], entries: [{ id: '0003', label: 'debian', target: { kind: 'disk', serial: 'D1' } }] },
      disks: [{ serial: 'D1', content: linux }],
    },
    words: { wipe: true },
    says: /^RescueSilent: .*not in RAM/,
    resets: 3,
  },
  {
    title: 'P23: disks that change their names at each boot are recognized by their serial numbers',
    seed: { board: { swapsDiskNames: true } },
  },
  { title: 'drives with a late udev entry are waited for', seed: { board: { udevSeconds: 20 } } },
  {
    title: 'drives that keep trimmed data do not start the old system',
    seed: { disks: [{ keepsTrimmed: true, content: { kind: 'talos', version: '1.12.4', configured: true } }] },
  },
  { title: 'a server that is off is switched on by its reset', seed: { power: 'off' } },
  {
    title: 'a connection cut in the middle of the work',
    mischief: failing('robot', /^ssh/, { kind: 'lose-reply' }, 3, 4),
  },
  {
    title: 'a connection cut in the middle of a script upload',
    mischief: (fixture, number) => {
      failingCommand(wipe, { kind: 'cut', of: 'request', bytes: 4000 }, 2)(fixture, number);
      failingCommand(write, { kind: 'cut', of: 'request', bytes: 1 })(fixture, number);
    },
  },
  {
    title: 'a connection cut in the middle of the output of a command',
    mischief: (fixture, number) => {
      for (const bytes of [0, 10, 300])
        failingCommand(inspection, { kind: 'cut', of: 'answer', bytes })(fixture, number);
      failingCommand(wipe, { kind: 'cut', of: 'answer', bytes: 5 }, 2)(fixture, number);
      failingCommand(write, { kind: 'cut', of: 'answer', bytes: 5 })(fixture, number);
    },
  },
  {
    title: 'a reboot command that never arrives at the server',
    mischief: failingCommand(/exec reboot/, { kind: 'drop' }),
  },
  { title: 'a reset call that never arrives at Robot', mischief: failing('robot', /^POST \/reset/, { kind: 'drop' }) },
  {
    title: 'an image that arrives in part',
    mischief: failing('image-factory', /^GET .*raw\.zst$/, { kind: 'lose-reply' }, 1),
  },
  {
    title: 'a factory that has no image for a while',
    mischief: failing('image-factory', /^GET .*raw\.zst$/, { kind: 'error', status: 503 }, 2),
  },
  {
    title: 'B10, P3: a reset whose reply was lost',
    mischief: failing('robot', /^POST \/reset/, { kind: 'lose-reply' }),
  },
  {
    title: 'an arming of rescue whose reply was lost',
    mischief: failing('robot', /^POST \/boot/, { kind: 'lose-reply' }, 2),
  },
  {
    title: 'Robot out of service for a while',
    mischief: failing('robot', /^(GET|POST|DELETE) /, { kind: 'error', status: 503 }, 3, 2),
  },
  {
    title: 'a disk that is smaller than the image',
    seed: { disks: [{ sizeBytes: 22_000_000_000 }] },
  },
  { title: 'a disk with 4 KiB sectors', seed: { disks: [{ sectorBytes: 4096 }] }, says: /^RESCUE_DISK_UNSUITABLE/ },
  {
    title: 'H3: an array that may be erased',
    seed: {
      disks: [{ content: { kind: 'raid-member', array: '0' } }, { content: { kind: 'raid-member', array: '0' } }],
    },
    words: { wipe: true },
  },
  {
    title: 'P12: a firmware that finds no boot loader is reported',
    seed: { firmware: { findsLoaders: false } },
    says: /^TalosSilent: .*console/,
  },
  { title: 'a legacy BIOS', seed: { firmware: { kind: 'bios' } } },
  {
    title: 'H4, B5: a SATA disk with Ceph that may be erased',
    seed: { disks: [{ bus: 'sata', rotational: true, content: { kind: 'ceph' } }] },
    words: { wipe: true },
  },
  { title: 'two network cards, both with a cable', seed: { nics: [{}, {}] } },
];
const numberOf = (index: number): number => 3140201 + index;

let fixture: RobotPlatformFixture;
beforeAll(async () => {
  const servers = cases.map(({ seed }, index) => ({ number: numberOf(index), ...seed }));
  fixture = await openRobotPlatformFixture({ network: '127.42.194', limits: { 'POST /reset': 500 }, servers }, 0.005);
});
afterAll(async () => await fixture?.close());

it.each(cases.map((one, index) => [one.title, one, numberOf(index)] as const))('%s', async (_, one, number) => {
  fixture.switchboard.clear();
  fixture.hosts = new InMemoryHosts();
  fixture.hosts.add(number, one.words);
  one.mischief?.(fixture, number);
  const resets = () => fixture.simulator.calls()['POST /reset'] ?? 0;
  const before = resets();
  const durable: MachineRecord = { progress: undefined };
  expect(describeVerdict(await fixture.start().walk('provision', `shop-${number}`, durable))).toMatch(
    one.says ?? /^finished$/,
  );
  // On a busy machine another reset may appear to have no effect.
  if (one.resets) expect(resets() - before).toBe(one.resets);
  else expect(resets() - before).toBeLessThanOrEqual(2);
  const server = fixture.simulator.servers().find((candidate) => candidate.number === number);
  if (!one.says) expect(server?.phase).toBe('talos');
  expect(fixture.simulator.lockouts()).toEqual([]);
});
