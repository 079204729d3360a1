import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { labels } from '../../../api/names.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { AccessObjectCache, type AccessObjectSnapshot } from './access-object-cache.ts';

/** An API server with one ServiceAccount for each id of `marked`. */
function play(marked: readonly string[] = []) {
  const clock = new ManualClock();
  const selectors: string[] = [];
  let hold: Promise<void> = Promise.resolve();
  const list = async ({ kind }: { kind: string }, { labelSelector }: { labelSelector: string }) => {
    const asked = /\((.*)\)/.exec(labelSelector)?.[1]?.split(',') ?? [];
    if (kind === 'ServiceAccount') selectors.push(asked.join(' '));
    const items = kind === 'ServiceAccount' ? marked.filter((id) => asked.includes(id)) : [];
    await hold;
    return { items: items.map((id) => ({ kind, metadata: { name: id, labels: { [labels.access]: id } } })) };
  };
  const reads = new AccessObjectCache({ list } as unknown as KubeClient, clock);
  const { signal } = new AbortController();
  const soon: string[] = [];
  const rested: string[] = [];
  const candidates = () => [
    ...soon.map((id) => ({ id, isWaiting: true })),
    ...rested.map((id) => ({ id, isWaiting: false })),
  ];
  const during = <T>(id: string, work: (read: AccessObjectSnapshot) => Promise<T>, fresh = false) =>
    reads.during(id, { signal, fresh, refreshSoon: candidates }, work);
  const find = (id: string, fresh = false) =>
    during(id, async ({ snapshot, isFresh }) => [snapshot.map(({ object }) => object.metadata.name), isFresh], fresh);
  const pauseAnswers = () => {
    let go = () => {};
    hold = new Promise((resolve) => {
      go = resolve;
    });
    return go;
  };
  return { clock, selectors, during, find, soon, rested, pauseAnswers };
}

describe('lists of a target cluster', () => {
  it('find the objects with the mark of a request', async () => {
    const { find } = play(['a']);
    expect([await find('a'), await find('b')]).toEqual([
      [['a'], true],
      [[], true],
    ]);
  });

  it('prefetch for requests that follow soon', async () => {
    const { find, soon, selectors } = play(['b']);
    soon.push('b', 'c');
    expect(await find('a')).toEqual([[], true]);
    expect([await find('b'), await find('c')]).toEqual([
      [['b'], false],
      [[], false],
    ]);
    expect(selectors).toEqual(['a b c']);
  });

  it('are used once, and only for ten seconds', async () => {
    const { find, soon, clock } = play();
    soon.push('b', 'c');
    await find('a');
    expect(await find('b')).toEqual([[], false]);
    expect(await find('b')).toEqual([[], true]);
    await clock.advance(10_000);
    expect(await find('c')).toEqual([[], true]);
  });

  it('are repeated if a fresh result is required', async () => {
    const { find, soon, selectors } = play();
    soon.push('b');
    await find('a');
    soon.length = 0;
    expect(await find('b', true)).toEqual([[], true]);
    expect(selectors).toEqual(['a b', 'b']);
  });

  it('are not used for a request that was reconciled meanwhile', async () => {
    const { find, during, soon, pauseAnswers } = play();
    soon.push('b', 'c');
    const go = pauseAnswers();
    const looking = find('a');
    const working = during('b', async () => {}, true);
    go();
    await Promise.all([looking, working]);
    expect(await find('b')).toEqual([[], true]);
    expect(await find('c')).toEqual([[], false]);
  });

  it('leave out requests whose reconcile is running', async () => {
    const { find, during, soon, selectors } = play();
    soon.push('b');
    await during('b', async () => void (await find('a')), true);
    expect(selectors).toEqual(['b', 'a']);
  });

  it('are shared by idle requests at their resync, and by all requests after a start', async () => {
    const { find, rested, selectors, clock } = play();
    rested.push('b', 'c');
    for (const id of ['a', 'b', 'c']) await find(id);
    expect(selectors).toEqual(['a b c']);
    await clock.advance(300_000);
    await find('a');
    await clock.advance(300_000);
    for (const id of ['b', 'c']) await find(id);
    expect(selectors).toEqual(['a b c', 'a', 'b c']);
  });

  it('contain at most 200 ids', async () => {
    const { find, soon, selectors } = play();
    soon.push(...Array.from({ length: 500 }, (_, i) => `r${i}`));
    await find('a');
    expect(selectors.map((text) => text.split(' ').length)).toEqual([200]);
  });
});
