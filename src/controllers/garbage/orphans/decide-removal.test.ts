import { describe, expect, it } from 'vitest';
import { decideRemoval, findAutomaticRemovalObjection, findRemovalObjection } from './decide-removal.ts';

const seen = '2026-11-21T09:00:00Z';
const [early, late] = [new Date('2026-11-22T08:59:59Z'), new Date('2026-11-22T09:00:00Z')];
const resting = { isRunning: false };
const unresponsive = { address: undefined, cluster: undefined, needReason: undefined };
const spoken = (text: object) => ({ ...unresponsive, ...text });

describe('an orphan', () => {
  it('G14: is removed automatically after a day without objection', () => {
    expect(findAutomaticRemovalObjection(resting, unresponsive)).toBeUndefined();
    expect(decideRemoval(seen, late)).toMatchObject({ isRemoved: true });
  });

  it('G14: has that day, and its message contains the end', () => {
    const message = expect.stringMatching(/^It is removed at 2026-11-22T09:00:00Z, unless/);
    expect(decideRemoval(seen, early)).toEqual({ isRemoved: false, message });
  });

  it.each([
    ['at its first observation', undefined],
    ['after the clock was set back', '2026-12-24T09:00:00Z'],
  ])('is retained %s', (_, unusedSince) => {
    expect(decideRemoval(unusedSince, late)).toMatchObject({ isRemoved: false });
  });

  it.each([
    ['it runs', { isRunning: true }, unresponsive, /^It runs, or its state is unknown\. .*remove-orphans/],
    [
      'its Cluster exists',
      resting,
      spoken({ cluster: 'shop/main' }),
      /^Its Cluster shop\/main exists\. .*remove-orphans/,
    ],
    [
      'an address is claimed for it',
      resting,
      spoken({ address: '192.0.2.7' }),
      /^The address 192\.0\.2\.7 is .*remove-orphans/,
    ],
  ])('is retained while %s, unless a user requests its removal', (_, orphan, evidence, text) => {
    expect(findAutomaticRemovalObjection(orphan, evidence)).toMatch(text);
    expect(findRemovalObjection(orphan, evidence)).toBeUndefined();
  });

  it.each([
    [
      'its Cluster needs it',
      resting,
      spoken({ cluster: 'shop/main', needReason: 'Cluster shop/main wants it.' }),
      'wants it.',
    ],
    ['it may be a copy', { isRunning: false, uncertainty: 'It may be a copy.' }, unresponsive, 'may be a copy.'],
  ])('is retained if %s, also on request', (_, orphan, evidence, text) => {
    expect(findAutomaticRemovalObjection(orphan, evidence)).toMatch(text);
    expect(findRemovalObjection(orphan, evidence)).toMatch(text);
  });
});
