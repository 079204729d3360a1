import { afterAll, beforeAll, expect, it } from 'vitest';
import { events } from './events/index.ts';
import { Fleet } from './fleet.ts';
import { hourLayout, yearLayout } from './fleet-layout.ts';
import { survive, untilSettled } from './run-chaos.ts';
import { describeSchedule, planSchedule } from './schedule.ts';

const isYear = process.env['CHAOS'] === 'year';
const seed = Number(process.env['CHAOS_SEED'] ?? 1);
const wanted = Number(process.env['CHAOS_EVENTS'] ?? (isYear ? 300 : 10));
const layout = isYear ? yearLayout : hourLayout;
const only = process.env['CHAOS_ONLY'];
const kinds = only ? events.filter(({ name }) => new RegExp(only).test(name)) : events;
const schedule = planSchedule(kinds, layout, { seed, events: wanted, perDay: isYear ? 3 : 2 });
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.open(layout);
  await fleet.create();
  try {
    await untilSettled(fleet, 'the birth of the fleet');
  } catch (error) {
    process.stderr.write(fleet.provider.tail());
    throw error;
  }
}, 1_200_000);
afterAll(async () => await fleet?.close(), 60_000);

it(`a fleet survives (CHAOS_SEED=${seed})`, { timeout: 36_000_000 }, async () => {
  try {
    const survived = await survive(fleet, schedule, (day) =>
      process.stderr.write(
        `${new Date().toISOString().slice(11, 19)} day ${day.day}: ${day.strikes.join('; ')}: ${day.minutes} min, ${day.usage.residentMiB} MiB, ${day.usage.handles} handles\n`,
      ),
    );
    expect(survived).toHaveLength(schedule.length);
  } catch (error) {
    process.stderr.write(`${describeSchedule(schedule)}\n${fleet.provider.tail(80)}${fleet.testbed.tail()}`);
    throw error;
  }
});
