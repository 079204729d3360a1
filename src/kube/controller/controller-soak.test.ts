import { describe, expect, it } from 'vitest';
import { heapBytes, runHeapGc } from '../../../test/support/heap.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { noLog } from '../../lib/log.ts';
import { EventRecorder } from '../event-recorder.ts';
import { type ObjectChange, ObjectStore } from '../reflector/object-store.ts';
import { formatObjectKey, type KubeObject, objectKeyOf } from '../resource.ts';
import { Controller, createKeySource } from './controller.ts';

const text = 'x'.repeat(40);

const object = (i: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  // Each object has about 4 kB of its own.
  metadata: {
    namespace: `team-${i}`,
    name: `o-${i}`,
    uid: `u-${i}`,
    resourceVersion: '1',
    annotations: Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`${i}/${k}`, `${text} ${i}`])),
  },
});

/** Creates objects whose reconciles fail in every possible way, and deletes them. */
async function createFixture() {
  const clock = new ManualClock();
  const store = new ObjectStore<KubeObject>({ team: ({ metadata }) => [metadata.namespace ?? ''] });
  const listeners = new Set<(change: ObjectChange<KubeObject>) => void>();
  const reflector = {
    synced: Promise.resolve(),
    onChange: (listener: (change: ObjectChange<KubeObject>) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const report = (changes: readonly ObjectChange<KubeObject>[]) => {
    for (const change of changes) for (const listener of listeners) listener(change);
  };
  const client = { get: async () => object(0), create: async () => object(0), merge: async () => object(0) } as never;
  const events = new EventRecorder({ client, clock, log: noLog, component: 'soak', perSecond: 1e9 });
  let left = 0;
  const controller = new Controller({
    name: 'soak',
    clock,
    log: noLog,
    random: () => 0,
    groups: { groupOf: (key) => key.namespace ?? '', limitsSlowGroups: true },
    sources: [createKeySource(reflector, ({ object: changed }) => [objectKeyOf(changed)], { clock, seconds: 5 })],
    reconcile: async (key) => {
      const found = store.get(key);
      if (!found) {
        left += 1;
        return;
      }
      events.record(found, 'Warning', 'Odd', `What is odd about ${key.name}.`);
      const kind = Number(key.name.slice(2)) % 3;
      if (kind === 0) throw new ProviderError('CONFIG_INVALID', formatObjectKey(key));
      if (kind === 1) throw new ProviderError('UNREACHABLE', formatObjectKey(key));
    },
  });
  const end = new AbortController();
  const running = controller.start(end.signal);
  await clock.settle();
  return {
    comeAndGo: async (from: number, to: number) => {
      for (let at = from; at < to; at += 500) {
        const some = Array.from({ length: 500 }, (_, i) => object(at + i));
        for (const one of some) report(store.put(one));
        await clock.advance(10);
        for (const one of some) report(store.drop(objectKeyOf(one)));
        await clock.advance(6000);
      }
      await clock.advance(700_000);
      await events.flush();
      runHeapGc();
      return heapBytes();
    },
    store,
    left: () => left,
    close: async () => {
      end.abort();
      await running;
      await events.close(0);
    },
  };
}

describe('10,000 objects that are created and deleted', () => {
  it('leave the heap at its former size', async () => {
    const { comeAndGo, store, left, close } = await createFixture();
    // The maximum number of entries of the maps.
    const before = await comeAndGo(0, 6000);
    const grown = (await comeAndGo(6000, 16_000)) - before;
    expect([store.size, store.by('team', 'team-3').length]).toEqual([0, 0]);
    expect(left()).toBeGreaterThanOrEqual(16_000);
    // All created objects together have 40 MB.
    expect(grown).toBeLessThan(4e6);
    await close();
  });
});
