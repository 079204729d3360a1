import { describe, expect, it } from 'vitest';
import { aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { OrphanScanSchedule } from './orphan-scan-schedule.ts';

describe('a scan for orphans', () => {
  const config = aProviderConfig();
  const clock = new ManualClock();
  const rounds = new OrphanScanSchedule(clock);

  it('is due at first, and again ten minutes after a recorded one', async () => {
    expect(rounds.isDue(config)).toBe(true);
    expect(rounds.isDue(config)).toBe(true);
    rounds.finish(config);
    await clock.advance(300_000);
    expect(rounds.isDue(config)).toBe(false);
    await clock.advance(300_000);
    expect(rounds.isDue(config)).toBe(true);
  });

  it('is due after a change of the spec, or on request', () => {
    rounds.finish(config);
    expect(rounds.isDue({ ...config, metadata: { ...config.metadata, generation: 2 } })).toBe(true);
    expect(rounds.isDue(config)).toBe(false);
    rounds.forget(config);
    expect(rounds.isDue(config)).toBe(true);
  });
});
