import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { chooseFailureDomain } from './choose-failure-domain.ts';
import { FailureDomainReservations } from './failure-domain-reservations.ts';

const names = ['a', 'b', 'c'];

function createFixture() {
  const clock = new ManualClock();
  const known = new Set<string>();
  const chosen = new FailureDomainReservations(clock);
  /** The only control plane of a Cluster, whose Machine the cache does not show yet. */
  const choose = (machine: string, config = 'home') => {
    const failureDomain = chooseFailureDomain(
      names,
      'cp',
      [],
      chosen.unknown(config, (one) => known.has(one)),
    );
    chosen.reserve(machine, config, { pool: 'cp', failureDomain });
    return failureDomain;
  };
  return { clock, known, choose };
}

describe('reservations of failure domains', () => {
  it('T58: count for Clusters that choose concurrently, and not for those of another ProviderConfig', () => {
    const { choose } = createFixture();
    expect([choose('x-cp-0'), choose('y-cp-0'), choose('z-cp-0')]).toEqual(['a', 'b', 'c']);
    expect(choose('o-cp-0', 'other')).toBe('a');
  });

  it('do not count once the Machine is in the cache', () => {
    const { choose, known } = createFixture();
    choose('x-cp-0');
    known.add('x-cp-0');
    expect(choose('y-cp-0')).toBe('a');
  });

  it('expire after a minute: the Machine was not created', async () => {
    const { choose, clock } = createFixture();
    choose('x-cp-0');
    await clock.advance(59_000);
    expect(choose('y-cp-0')).toBe('b');
    await clock.advance(61_000);
    expect(choose('z-cp-0')).toBe('a');
  });
});
