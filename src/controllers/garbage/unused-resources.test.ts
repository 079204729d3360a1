import { describe, expect, it } from 'vitest';
import { aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { noLog } from '../../lib/log.ts';
import { TrueNasError } from '../../platforms/truenas/error-codes.ts';
import type { Services } from '../shared/services.ts';
import { GarbageSchedule } from './garbage-schedule.ts';
import type { GarbageScope } from './garbage-source.ts';
import { collectCandidate, createUnusedResourceSource, type UnusedCandidate } from './unused-resources.ts';

const signal = new AbortController().signal;
const config = aProviderConfig();

/** A source whose candidates each failure domain lists with this function. */
function createFixture(list: (failureDomain: string | undefined) => Promise<UnusedCandidate[]> = async () => []) {
  const clock = new ManualClock();
  const schedule = new GarbageSchedule(clock);
  const events: string[] = [];
  const record = (_: unknown, ...text: string[]) => events.push(text.join(' '));
  const services = { clock, events: { record } } as unknown as Services;
  const seen: (string | undefined)[] = [];
  const source = createUnusedResourceSource({
    name: 'images',
    list: async (_, { check: { failureDomain } }) => {
      seen.push(failureDomain);
      return await list(failureDomain);
    },
  });
  const read = async (...failureDomains: (string | undefined)[]) => {
    const scopes = (failureDomains.length > 0 ? failureDomains : [undefined]).map(
      (failureDomain) => ({ platform: 'truenas', garbage: {}, check: { failureDomain } }) as unknown as GarbageScope,
    );
    await source.collect({ services, schedule, config, scopes, unavailable: [], signal, log: noLog });
  };
  const anHourLater = async (...failureDomains: string[]) => {
    await clock.advance(3600 * 1000);
    await read(...failureDomains);
  };
  return { clock, events, schedule, seen, look: read, anHourLater };
}

const candidate = (change: Partial<UnusedCandidate> = {}): UnusedCandidate => ({
  use: 'unused',
  unusedSince: new Date('2026-11-20T09:00:00Z'),
  recordUnusedSince: async () => {},
  remove: async () => 'It is removed.',
  ...change,
});

describe('a source of unused resources', () => {
  it('begins an hour after the process, and repeats every hour', async () => {
    const { clock, seen, look: read, anHourLater } = createFixture();
    await read();
    await clock.advance(3599 * 1000);
    await read();
    expect(seen).toHaveLength(0);
    await clock.advance(1000);
    for (let i = 0; i < 3; i += 1) await read();
    expect(seen).toHaveLength(1);
    await anHourLater();
    expect(seen).toHaveLength(2);
  });

  it('runs at once on request', async () => {
    const { seen, look: read, schedule } = createFixture();
    for (let i = 1; i <= 2; i += 1) {
      schedule.request(config.metadata.name);
      await read();
      await read();
      expect(seen).toHaveLength(i);
    }
  });

  it('runs in an unreachable failure domain as soon as that is reachable again', async () => {
    const { clock, seen, look: read, schedule } = createFixture();
    await read('a', 'b');
    await clock.advance(3600 * 1000);
    await read('a');
    await read('a', 'b');
    expect(seen).toEqual(['a', 'b']);
    schedule.request(config.metadata.name);
    await read('b');
    await read('a', 'b');
    expect(seen.slice(2)).toEqual(['b', 'a']);
  });

  it('records an Event for each removed resource', async () => {
    const { events, look: read, anHourLater } = createFixture(async () => [candidate(), candidate({ use: 'used' })]);
    await read();
    await anHourLater();
    expect(events).toEqual(['Normal GarbageCollected It is removed.']);
  });

  it('collects in the other failure domains while one fails, and tries that again in an hour', async () => {
    const {
      seen,
      events,
      look: read,
      anHourLater,
    } = createFixture(async (failureDomain) => {
      if (failureDomain === 'a') throw new TrueNasError('TRUENAS_UNREACHABLE');
      return [candidate()];
    });
    await read('a', 'b');
    await anHourLater('a', 'b');
    await read('a', 'b');
    expect([seen, events]).toEqual([['a', 'b'], [expect.stringContaining('It is removed.')]]);
    await anHourLater('a', 'b');
    expect(seen).toEqual(['a', 'b', 'a', 'b']);
  });

  it('throws internal errors', async () => {
    const { look: read, anHourLater } = createFixture(() => Promise.reject(new TypeError('ours')));
    await read();
    await expect(anHourLater()).rejects.toThrow('ours');
  });
});

describe('a candidate', () => {
  const now = new Date('2026-11-21T09:00:00Z');
  const early = new Date(now.getTime() - 1000);
  /** Since when it is recorded as unused after the collection: `undefined` was recorded, `unchanged` was nothing. */
  async function collect(change: Partial<UnusedCandidate>) {
    let recorded: Date | undefined | 'unchanged' = 'unchanged';
    const recordUnusedSince = async (since: Date | undefined) => {
      recorded = since;
    };
    const removed = await collectCandidate(candidate({ recordUnusedSince, ...change }), now);
    return { removed, recorded: recorded as Date | undefined | 'unchanged' };
  }

  it.each<[string, Partial<UnusedCandidate>, Awaited<ReturnType<typeof collect>>]>([
    ['is removed after a day without use', {}, { removed: 'It is removed.', recorded: 'unchanged' }],
    ['stays before that', { unusedSince: early }, { removed: undefined, recorded: 'unchanged' }],
    ['has its day from the first time', { unusedSince: undefined }, { removed: undefined, recorded: now }],
    [
      'has its day again after a date in the future',
      { unusedSince: new Date('2026-12-24T09:00:00Z') },
      { removed: undefined, recorded: now },
    ],
    ['loses its date when it is used', { use: 'used' }, { removed: undefined, recorded: undefined }],
    [
      'stays as it is when it is used without a date',
      { use: 'used', unusedSince: undefined },
      { removed: undefined, recorded: 'unchanged' },
    ],
    ['stays as it is while its use is unknown', { use: 'unknown' }, { removed: undefined, recorded: 'unchanged' }],
  ])('%s', async (_, change, result) => {
    expect(await collect(change)).toEqual(result);
  });
});
