import { describe, expect, it } from 'vitest';
import { aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { OrphanScanSchedule } from './orphan-scan-schedule.ts';

describe('a scan for orphans', () => {
  const config = aProviderConfig();
  const clock = new ManualClock();
  const schedule = new OrphanScanSchedule(clock);

  it('is due at first, and again ten minutes after a recorded one', async () => {
    expect(schedule.isDue(config)).toBe(true);
    expect(schedule.isDue(config)).toBe(true);
    schedule.finish(config);
    await clock.advance(300_000);
    expect(schedule.isDue(config)).toBe(false);
    await clock.advance(300_000);
    expect(schedule.isDue(config)).toBe(true);
  });

  it('is due after a change of the spec, or on request', () => {
    schedule.finish(config);
    expect(schedule.isDue({ ...config, metadata: { ...config.metadata, generation: 2 } })).toBe(true);
    expect(schedule.isDue(config)).toBe(false);
    schedule.forget(config);
    expect(schedule.isDue(config)).toBe(true);
  });
});
