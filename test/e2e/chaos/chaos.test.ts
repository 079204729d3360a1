import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { events } from './events/index.ts';
import { Fleet } from './fleet.ts';
import { hourLayout, yearLayout } from './fleet-layout.ts';
import { listGrowth } from './growth.ts';
import { formatReport } from './report.ts';
import { describeDay, type SurvivedDay, survive, untilSettled } from './run-chaos.ts';
import { describeSchedule, planSchedule } from './schedule.ts';

/** `CHAOS=year`: twenty clusters and several hundred events. Otherwise an hour of the world. */
const isYear = process.env['CHAOS'] === 'year';
/** Always the same in CI, so that a failure there repeats: events of many kinds, none of which takes an hour. */
const seed = Number(process.env['CHAOS_SEED'] ?? 92);
const count = Number(process.env['CHAOS_EVENTS'] ?? (isYear ? 300 : 10));
/** Only events whose names match, to look at a few of them. */
const chosen = new RegExp(process.env['CHAOS_ONLY'] ?? '');
const reportPath = process.env['CHAOS_REPORT'];

const layout = isYear ? yearLayout : hourLayout;
const kinds = events.filter(({ name }) => chosen.test(name));
const schedule = planSchedule(kinds, layout, { seed, events: count, perDay: isYear ? 4 : 2 });
let fleet: Fleet;

/** Prints the schedule and the ends of the logs. */
function explain(): void {
  process.stderr.write(`CHAOS_SEED=${seed}\n${describeSchedule(schedule)}\n${fleet.provider.tail(80)}`);
}

beforeAll(async () => {
  fleet = await Fleet.open(layout);
  await fleet.create();
  await untilSettled(fleet, 'the birth of the fleet').catch((error: unknown) => {
    explain();
    throw error;
  });
}, 2_400_000);
afterAll(async () => await fleet?.close(), 120_000);

it('a seed stands for one schedule, in which no two events of a day concern one cluster', () => {
  const plan = (number: number) => planSchedule(events, yearLayout, { seed: number, events: 300, perDay: 4 });
  expect(describeSchedule(plan(7))).toBe(describeSchedule(plan(7)));
  expect(describeSchedule(plan(7))).not.toBe(describeSchedule(plan(8)));
  for (const { strikes } of plan(7)) {
    const concerned = strikes.flatMap(({ event, target }) => event.clusters(target, yearLayout));
    expect(concerned).toHaveLength(new Set(concerned).size);
  }
});

it(`a fleet survives ${count} events (CHAOS_SEED=${seed})`, { timeout: 36_000_000 }, async () => {
  const survived: SurvivedDay[] = [];
  const print = (day: SurvivedDay): void => {
    survived.push(day);
    if (isYear || process.env['CHAOS_TRACE'])
      process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${describeDay(day)}\n`);
  };
  try {
    await survive(fleet, schedule, print);
    const [first, last] = [survived[0], survived.at(-1)];
    const machines = (await fleet.machines()).length;
    expect(first && last && listGrowth(first.usage, last.usage, machines)).toEqual([]);
    expect(survived).toHaveLength(schedule.length);
  } catch (error) {
    explain();
    throw error;
  } finally {
    const machines = (await fleet.machines()).length;
    const { deaths } = fleet.provider;
    const report = formatReport({ seed, layout, machines, days: survived, planned: schedule.length, deaths });
    if (reportPath !== undefined) await writeFile(reportPath, report);
    else if (isYear) process.stdout.write(report);
  }
});
