import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { type SilenceWatch, withSilenceLimit } from './silence-limit.ts';

const seconds = 60;
const problem = new Error('nothing has arrived');

/** Work that ends when its signal does, or when `end` is called. */
function start() {
  const clock = new ManualClock();
  const parent = new AbortController();
  let watch: SilenceWatch | undefined;
  let end = () => {};
  const limit = { seconds, clock, signal: parent.signal, silent: () => problem };
  const result = withSilenceLimit(limit, (given) => {
    watch = given;
    return new Promise<string>((resolve, reject) => {
      end = () => resolve('read');
      given.signal.addEventListener('abort', () => reject(given.signal.reason));
    });
  }).catch((error: unknown) => error);
  return { clock, parent, result, end: () => end(), watch: watch as unknown as SilenceWatch };
}

it('work to which nothing arrives is aborted', async () => {
  const { clock, result } = start();
  await clock.advance(seconds * 1000);
  expect(await result).toBe(problem);
  expect(clock.sleeping).toBe(0);
});

it('work to which something arrives from time to time goes on for as long as it takes', async () => {
  const { clock, result, watch, end } = start();
  for (let turn = 0; turn < 20; turn += 1) {
    await clock.advance((seconds - 1) * 1000);
    await watch.during(async () => {});
  }
  end();
  expect(await result).toBe('read');
  expect(clock.sleeping).toBe(0);
});

it('the time in which we work is no silence, and the time after it is', async () => {
  const { clock, result, watch } = start();
  let done = () => {};
  const work = watch.during(() => new Promise<void>((resolve) => (done = resolve)));
  await clock.advance(10 * seconds * 1000);
  expect(watch.signal.aborted).toBe(false);
  done();
  await work;
  await clock.advance(2 * seconds * 1000);
  expect(await result).toBe(problem);
});

it('the end of the parent is the end of the work', async () => {
  const { parent, result } = start();
  const reason = new Error('shutdown');
  parent.abort(reason);
  expect(await result).toBe(reason);
});
