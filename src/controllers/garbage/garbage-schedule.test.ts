import { describe, expect, it } from 'vitest';
import { aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { GarbageSchedule, type GarbageTiming } from './garbage-schedule.ts';

const config = aProviderConfig();
const changed = { ...config, metadata: { ...config.metadata, generation: 2 } };
const prompt: GarbageTiming = { name: 'orphans', intervalSeconds: 540, startsAtOnce: true, followsSpec: true };
const hourly: GarbageTiming = { name: 'images', intervalSeconds: 3600, startsAtOnce: false, followsSpec: false };

function createFixture() {
  const clock = new ManualClock();
  return { clock, schedule: new GarbageSchedule(clock) };
}

describe('a source that starts at once', () => {
  it('is due at first, and again an interval after it was finished', async () => {
    const { clock, schedule } = createFixture();
    expect(schedule.isDue(prompt, config)).toBe(true);
    expect(schedule.isDue(prompt, config)).toBe(true);
    schedule.finish(prompt, config);
    await clock.advance(300_000);
    expect(schedule.isDue(prompt, config)).toBe(false);
    await clock.advance(300_000);
    expect(schedule.isDue(prompt, config)).toBe(true);
  });

  it('is due after a change of the spec, if it follows that', () => {
    const { schedule } = createFixture();
    schedule.finish(prompt, config);
    schedule.finish(hourly, config);
    expect(schedule.isDue(prompt, changed)).toBe(true);
    expect(schedule.isDue(hourly, changed)).toBe(false);
    expect(schedule.isDue(prompt, config)).toBe(false);
  });
});

describe('a source that does not start at once', () => {
  it('is due an interval after it was first asked for, in each failure domain', async () => {
    const { clock, schedule } = createFixture();
    expect(schedule.isDue(hourly, config, 'a')).toBe(false);
    await clock.advance(1_800_000);
    expect(schedule.isDue(hourly, config, 'b')).toBe(false);
    await clock.advance(1_800_000);
    expect([schedule.isDue(hourly, config, 'a'), schedule.isDue(hourly, config, 'b')]).toEqual([true, false]);
  });

  it('is due at once if a request came before', () => {
    const { schedule } = createFixture();
    schedule.request(config.metadata.name);
    expect(schedule.isDue(hourly, config)).toBe(true);
    schedule.finish(hourly, config);
    expect(schedule.isDue(hourly, config)).toBe(false);
  });
});

it('a request makes every source of that ProviderConfig due once', () => {
  const { schedule } = createFixture();
  const other = { ...config, metadata: { ...config.metadata, name: 'other', uid: 'other' } };
  for (const timing of [prompt, hourly]) for (const one of [config, other]) schedule.finish(timing, one);
  schedule.request(config.metadata.name);
  expect([prompt, hourly].map((timing) => schedule.isDue(timing, config))).toEqual([true, true]);
  expect([prompt, hourly].map((timing) => schedule.isDue(timing, other))).toEqual([false, false]);
  for (const timing of [prompt, hourly]) schedule.finish(timing, config);
  expect([prompt, hourly].map((timing) => schedule.isDue(timing, config))).toEqual([false, false]);
});
