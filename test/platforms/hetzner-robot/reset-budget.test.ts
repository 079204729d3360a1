import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import {
  describeVerdict,
  installationWithServers,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const hourly = 20;
const waiting = 20;
const numbers = Array.from({ length: hourly + waiting }, (_, index) => 3140601 + index);

/** The first position reported to a machine, and the time of its turn. */
interface WaitingTurn {
  readonly place: number;
  readonly at: number;
  readonly estimate: string;
  doneAt: number;
}
/** By machine, in the order of their first reports. */
const turns = new Map<string, WaitingTurn>();

let fixture: RobotPlatformFixture;
beforeAll(async () => {
  const servers = numbers.map((number) => ({ number }));
  // A minute by dates, in which a machine at its turn gets ready, is a real second here: enough on a busy machine.
  fixture = await openRobotPlatformFixture(
    { network: '127.42.166', limits: { 'POST /reset': hourly }, servers },
    0.016,
  );
});
afterAll(async () => await fixture?.close());

const nowSeconds = (): number => fixture.clock.monotonic() / 1000;

/** Whether a position was ever reported to this machine. */
function recordEstimate(machine: string, verdict: AdvanceResult): boolean {
  const messages = 'message' in verdict ? verdict.message : '';
  const [, place, estimate] = /position (\d+) of \d+, in (about .*)\.$/.exec(messages) ?? [];
  if (place !== undefined && estimate !== undefined && !turns.has(machine)) {
    turns.set(machine, { place: Number(place), at: nowSeconds(), estimate, doneAt: Number.NaN });
  }
  return turns.has(machine);
}

/** The range of seconds that an estimate covers. */
function secondsRangeOf(words: string): readonly [number, number] {
  const [, count = '1', unit] = /about (a|\d+) (minute|hour)/.exec(words) ?? [];
  const amount = count === 'a' ? 1 : Number(count);
  return unit === 'hour' ? [(amount - 0.5) * 3600, (amount + 0.5) * 3600] : [(amount - 1) * 60, amount * 60];
}

it('twenty servers that wait for resets get an estimate, and have their turns in the order of their arrival', async () => {
  const process = fixture.start(installationWithServers(numbers));
  const served: string[] = [];
  const walk = async (machine: string, at: number, hasCome: () => void): Promise<string> => {
    // After its reset a machine has served its purpose; some of those that need not wait continue to the end.
    const stop = (verdict: AdvanceResult): boolean => {
      const isTold = recordEstimate(machine, verdict);
      const isReset = verdict.progress.step === 'rescue-entered';
      if (isTold || isReset) hasCome();
      return (isTold || at > 1) && isReset;
    };
    const verdict = await process.walk('provision', machine, { progress: undefined }, stop);
    const turn = turns.get(machine);
    if (turn) turn.doneAt = nowSeconds();
    else served.push(describeVerdict(verdict));
    return verdict.progress.step;
  };
  const walks: Promise<string>[] = [];
  // Each machine starts after the reset or the queueing of the one before. Otherwise it would share its position with
  // machines just before their reset.
  for (const [at, number] of numbers.entries())
    await new Promise<void>((resolve) => walks.push(walk(`queue-${number}`, at, resolve)));
  const ends = await Promise.all(walks);
  // The rest of the machines are provisioned meanwhile.
  expect(served).toHaveLength(hourly);
  expect(served.filter((end) => end === 'finished')).toHaveLength(2);
  expect(ends.filter((step) => step === 'rescue-entered')).toHaveLength(hourly - 2 + waiting);
  // The positions follow the order of arrival, also for the machine that Robot rejected at the limit.
  expect([...turns.values()].map(({ place }) => place)).toEqual(
    Array.from({ length: waiting }, (_, index) => index + 1),
  );
  for (const [machine, { at, doneAt, estimate }] of turns) {
    const [least, max] = secondsRangeOf(estimate);
    // Waiting machines are reconciled every five minutes at least.
    expect(doneAt - at, `${machine} was told: ${estimate}`).toBeGreaterThan(least - 120);
    expect(doneAt - at, `${machine} was told: ${estimate}`).toBeLessThan(max + 420);
  }
  const calls = fixture.simulator.calls();
  expect(calls['POST /reset']).toBeLessThanOrEqual(numbers.length + 6);
  expect(calls['GET /boot']).toBeLessThanOrEqual(numbers.length * 3);
  expect(fixture.simulator.lockouts()).toEqual([]);
}, 240_000);
