import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type ImagePull, ImagePulls } from './image-pulls.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

interface Counted extends ImagePull {
  count: number;
}

const aPull = (machine: string, work: () => Promise<void>): Counted => {
  const pull: Counted = {
    ...{ key: machine, machine, image: 'kubelet:v1.35.2', count: 0 },
    pull: () => {
      pull.count += 1;
      return work();
    },
  };
  return pull;
};
const present = async () => {};
const refuse = (code: 'TALOS_UNREACHABLE' | 'TALOS_NOT_FOUND', detail: string) => async () => {
  throw new ProviderError(code, detail);
};

describe('D15: images on all nodes before anything changes', () => {
  it('are pulled once, and counted', async () => {
    const pulls = new ImagePulls(new ManualClock());
    const all = [aPull('a', present), aPull('b', () => new Promise(() => {}))];
    expect(pulls.request(all)).toEqual({ done: 0, total: 2 });
    await settle();
    expect(pulls.request(all)).toEqual({ done: 1, total: 2 });
    expect(all.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('are reported with the words of the node when they do not exist, and tried again later', async () => {
    const clock = new ManualClock();
    const pulls = new ImagePulls(clock);
    const missing = aPull('a', refuse('TALOS_NOT_FOUND', 'v1.35.2: not found'));
    pulls.request([missing]);
    await settle();
    const failed = { machine: 'a', image: 'kubelet:v1.35.2', message: 'v1.35.2: not found' };
    expect(pulls.request([missing])).toEqual({ done: 0, total: 1, failed });
    expect(missing.count).toBe(1);
    await clock.advance(121_000);
    pulls.request([missing]);
    expect(missing.count).toBe(2);
  });

  it('are tried again soon on a node that does not answer, which is no failure', async () => {
    const clock = new ManualClock();
    const pulls = new ImagePulls(clock);
    const silent = aPull('a', refuse('TALOS_UNREACHABLE', '192.0.2.1'));
    pulls.request([silent]);
    await settle();
    expect(pulls.request([silent])).toEqual({ done: 0, total: 1 });
    await clock.advance(11_000);
    pulls.request([silent]);
    expect(silent.count).toBe(2);
  });

  it('are pulled a few at a time', async () => {
    const pulls = new ImagePulls(new ManualClock());
    const many = Array.from({ length: 20 }, (_, i) => aPull(`${i}`, () => new Promise(() => {})));
    pulls.request(many);
    pulls.request(many);
    expect(many.reduce((sum, { count }) => sum + count, 0)).toBe(6);
  });

  it('go on with the next one at the end of a pull, without another request', async () => {
    const pulls = new ImagePulls(new ManualClock());
    const many = Array.from({ length: 20 }, (_, i) => aPull(`${i}`, present));
    pulls.request(many);
    await settle();
    expect(pulls.request(many)).toEqual({ done: 20, total: 20 });
    expect(many.every(({ count }) => count === 1)).toBe(true);
  });

  it('are not started any more when nothing has requested them for a minute', async () => {
    const clock = new ManualClock();
    const pulls = new ImagePulls(clock);
    const ends: (() => void)[] = [];
    const many = Array.from({ length: 7 }, (_, i) => aPull(`${i}`, () => new Promise((resolve) => ends.push(resolve))));
    pulls.request(many);
    await clock.advance(61_000);
    for (const end of ends) end();
    await settle();
    expect(many.map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1, 0]);
  });
});
