import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { KubeError } from '../kube/errors.ts';
import { noLog } from '../lib/log.ts';
import type { ReviewClient } from './access-reviews.ts';
import { TokenAuthorizer } from './token-authorizer.ts';

interface Review {
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

const request = { path: '/metrics', verb: 'get' };

/** The API server's part: tokens `good` and `known` belong to users, and `good` may read. */
function createFixture() {
  const reviews: Review[] = [];
  const state = { isDown: false, mayRead: true, hold: undefined as Promise<void> | undefined };
  const answer = async (_: unknown, object: unknown): Promise<unknown> => {
    const review = object as Review;
    reviews.push(review);
    await state.hold;
    if (state.isDown) throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'down' });
    const token = String(review.spec['token'] ?? '');
    if (review.kind === 'TokenReview') {
      if (token === 'empty') return { status: { authenticated: true } };
      const user = { username: token, uid: '7', groups: ['scrapers'], extra: { 'example.org/x': ['1'] } };
      return { status: ['good', 'known'].includes(token) ? { authenticated: true, user } : { authenticated: false } };
    }
    return { status: { allowed: state.mayRead && review.spec['user'] === 'good' } };
  };
  const clock = new ManualClock();
  const access = new TokenAuthorizer({
    client: { create: answer } as ReviewClient,
    clock,
    log: noLog,
    served: 'metrics',
  });
  const evaluate = (header?: string) => access.review(header, request);
  return { reviews, state, clock, judge: evaluate };
}

describe('authorization for a path', () => {
  it('asks the platform cluster for the user of the token, and whether that user may read the path', async () => {
    const { judge: evaluate, reviews } = createFixture();
    expect(await evaluate('Bearer good')).toBe('allowed');
    expect(reviews.map(({ kind, spec }) => [kind, spec])).toEqual([
      ['TokenReview', { token: 'good' }],
      [
        'SubjectAccessReview',
        {
          user: 'good',
          uid: '7',
          groups: ['scrapers'],
          extra: { 'example.org/x': ['1'] },
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        },
      ],
    ]);
    expect(await evaluate('bearer known')).toBe('forbidden');
    expect(await evaluate('Bearer stolen')).toBe('unauthenticated');
    expect(await evaluate('Bearer empty')).toBe('unauthenticated');
  });

  it('rejects anything but one token of acceptable length, without asking', async () => {
    const { judge: evaluate, reviews } = createFixture();
    const headers = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Basic good',
      'Bearer good more',
      `Bearer ${'x'.repeat(8193)}`,
    ];
    for (const header of headers) expect(await evaluate(header)).toBe('unauthenticated');
    expect(reviews).toEqual([]);
  });

  it('caches an approval for a minute, and a rejection for ten seconds', async () => {
    const { judge: evaluate, reviews, state, clock } = createFixture();
    await evaluate('Bearer good');
    state.mayRead = false;
    await clock.advance(59_000);
    expect(await evaluate('Bearer good')).toBe('allowed');
    expect(reviews).toHaveLength(2);
    await clock.advance(1_000);
    expect(await evaluate('Bearer good')).toBe('forbidden');
    state.mayRead = true;
    await clock.advance(9_000);
    expect(await evaluate('Bearer good')).toBe('forbidden');
    await clock.advance(1_000);
    expect(await evaluate('Bearer good')).toBe('allowed');
  });

  it('reviews simultaneous requests with the same token once, and limits concurrent reviews', async () => {
    const { judge: evaluate, reviews, state } = createFixture();
    let go = (): void => {};
    state.hold = new Promise((resolve) => {
      go = resolve;
    });
    const same = Array.from({ length: 20 }, () => evaluate('Bearer good'));
    const others = Array.from({ length: 20 }, (_, i) => evaluate(`Bearer other${i}`));
    go();
    expect(new Set(await Promise.all(same))).toEqual(new Set(['allowed']));
    const verdicts = await Promise.all(others);
    expect(verdicts.filter((verdict) => verdict === 'unauthenticated')).toHaveLength(7);
    expect(verdicts.filter((verdict) => verdict === 'unavailable')).toHaveLength(13);
    expect(reviews).toHaveLength(2 + 7);
  });

  it('asks again after the platform cluster did not answer', async () => {
    const { judge: evaluate, state } = createFixture();
    state.isDown = true;
    expect(await evaluate('Bearer good')).toBe('unavailable');
    state.isDown = false;
    expect(await evaluate('Bearer good')).toBe('allowed');
    state.isDown = true;
    expect(await evaluate('Bearer good')).toBe('allowed');
  });

  it('evicts the oldest results when many invented tokens arrive', async () => {
    const { judge: evaluate, reviews } = createFixture();
    await evaluate('Bearer good');
    for (let i = 0; i < 256; i += 1) await evaluate(`Bearer invented${i}`);
    const before = reviews.length;
    await evaluate('Bearer invented255');
    expect(reviews).toHaveLength(before);
    await evaluate('Bearer good');
    expect(reviews).toHaveLength(before + 2);
  });
});
