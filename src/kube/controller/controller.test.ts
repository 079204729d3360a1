import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log, LogFields } from '../../lib/log.ts';
import { KubeError } from '../errors.ts';
import type { ObjectChange } from '../reflector/object-store.ts';
import type { KubeObject, ObjectKey } from '../resource.ts';
import {
  Controller,
  type ControllerOptions,
  createKeySource,
  type KeySource,
  type ReconcileOutcome,
} from './controller.ts';
import type { Priority } from './priority-queue.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

function listen(lines: Line[]): Log {
  const at = (level: string) => (fields: LogFields, message: string) => void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => listen(lines) };
}

/** A source that the test controls. */
function handSource() {
  let sync = () => {};
  const synced = new Promise<void>((resolve) => {
    sync = resolve;
  });
  const listeners = new Set<(key: ObjectKey, priority: Priority) => void>();
  const source: KeySource = {
    synced,
    subscribe: (enqueue) => {
      listeners.add(enqueue);
      return () => listeners.delete(enqueue);
    },
  };
  return {
    source,
    sync,
    listeners,
    say: (name: string, priority: Priority = 'high') => [...listeners].map((enqueue) => enqueue({ name }, priority)),
  };
}

function play(reconcile: ControllerOptions['reconcile'], more: Partial<ControllerOptions> = {}) {
  const clock = new ManualClock();
  const lines: Line[] = [];
  const outcomes: ReconcileOutcome[] = [];
  const hand = handSource();
  const nothing = () => {};
  const controller = new Controller({
    name: 'test',
    clock,
    log: listen(lines),
    random: () => 1,
    reconcile,
    sources: [hand.source],
    observer: {
      queue: () => ({ depth: nothing, added: nothing, retried: nothing, queued: nothing, reconciled: nothing }),
      reconciled: (_, outcome) => void outcomes.push(outcome),
      active: nothing,
    },
    ...more,
  });
  const end = new AbortController();
  const done = controller.start(end.signal);
  const throwing = () => lines.filter(({ level }) => level === 'warn' || level === 'error');
  return { clock, lines, loud: throwing, outcomes, hand, controller, end, done };
}

/** Runs a reconcile that always fails with this error. Returns the seconds at which it was called within `seconds`. */
async function callsAfter(error: () => unknown, seconds: number) {
  const at: number[] = [];
  const fixture = play(async () => {
    at.push(fixture.clock.monotonic() / 1000);
    throw error();
  });
  fixture.hand.sync();
  fixture.controller.enqueue({ name: 'a' });
  await fixture.clock.advance(seconds * 1000);
  fixture.end.abort();
  await fixture.done;
  return { at, ...fixture };
}

const kube = (status: number, reason: string, retryAfterSeconds?: number) =>
  new KubeError({ status, reason, message: reason, retryAfterSeconds });

describe('a controller', () => {
  it('reconciles nothing before its sources have synced, because an empty cache looks like deletion', async () => {
    const seen: string[] = [];
    const fixture = play(async ({ name }) => void seen.push(name));
    fixture.hand.say('a');
    await fixture.clock.advance(60_000);
    expect(seen).toEqual([]);
    fixture.hand.sync();
    await fixture.clock.settle();
    expect(seen).toEqual(['a']);
    fixture.end.abort();
    await fixture.done;
    expect(fixture.hand.listeners.size).toBe(0);
  });

  it('reconciles existing objects after new changes, so that a restart delays no change', async () => {
    const served: string[] = [];
    const fixture = play(async ({ name }) => void served.push(name), { concurrency: 1 });
    for (const name of ['old-1', 'old-2', 'old-3']) fixture.hand.say(name);
    fixture.controller.enqueue({ name: 'new' });
    fixture.hand.sync();
    await fixture.clock.settle();
    expect(served).toEqual(['new', 'old-1', 'old-2', 'old-3']);
    fixture.end.abort();
    await fixture.done;
  });

  it('ends on abort while it still waits for its sources', async () => {
    const fixture = play(async () => {});
    fixture.end.abort();
    await fixture.done;
    expect(fixture.hand.listeners.size).toBe(0);
  });

  it('passes the complete key to a reconcile, and requeues it on request', async () => {
    const seen: ObjectKey[] = [];
    const fixture = play(async (key) => {
      seen.push(key);
      return seen.length === 1 ? { requeueAfterSeconds: 30 } : {};
    });
    fixture.hand.sync();
    fixture.controller.enqueue({ namespace: 'n', name: 'a' }, 5);
    await fixture.clock.advance(34_999);
    expect(seen).toHaveLength(1);
    await fixture.clock.advance(1);
    expect(seen).toEqual(Array(2).fill({ namespace: 'n', name: 'a' }));
    expect(fixture.outcomes).toEqual(['requeue_after', 'success']);
    fixture.end.abort();
    await fixture.done;
  });

  it('retries a conflict soon and does not log it', async () => {
    const { at, loud: throwing, outcomes } = await callsAfter(() => kube(409, 'Conflict'), 2);
    expect(at).toEqual([0, 0.2, 0.6, 1.4]);
    expect(throwing()).toEqual([]);
    expect(new Set(outcomes)).toEqual(new Set(['requeue']));
  });

  it.each([
    ['a transient error', () => kube(503, 'ServiceUnavailable'), 'reconcile is waiting'],
    ['an error that needs a change', () => new ProviderError('CONFIG_INVALID', 'no pool'), 'needs a change'],
  ])('logs the end of %s once, after it has logged the beginning', async (_, error, begin) => {
    let calls = 0;
    const fixture = play(async () => {
      calls += 1;
      if (calls <= 3) throw error();
      return { requeueAfterSeconds: 60 };
    });
    fixture.hand.sync();
    fixture.controller.enqueue({ name: 'a' });
    await fixture.clock.advance(3_000_000);
    const shown = fixture.lines.filter(({ level }) => level === 'warn' || level === 'info');
    const messages = shown.map(({ message }) => message);
    expect(messages).toEqual(['controller starts', begin, 'reconcile succeeds again']);
    fixture.end.abort();
    await fixture.done;
  });

  it('waits ten minutes where only a change helps, and logs each message once', async () => {
    const sentences = ['the pool is full', 'the pool is full', 'the key is wrong'];
    const next = () => new ProviderError('CONFIG_INVALID', sentences.shift() ?? 'the key is wrong');
    const { at, loud: throwing, outcomes } = await callsAfter(next, 3000);
    expect(at).toEqual([0, 600, 1200, 1800, 2400, 3000]);
    expect(throwing().map(({ level, fields }) => [level, String(fields['error']).split('. ')[1]])).toEqual([
      ['warn', 'the pool is full'],
      ['warn', 'the key is wrong'],
    ]);
    expect(outcomes).not.toContain('error');
  });

  it.each([
    ['our own', () => new ProviderError('UNREACHABLE')],
    ["the API server's", () => kube(503, 'ServiceUnavailable')],
    ['no answer', () => kube(0, 'DeadlineExceeded')],
    ['a server that has just started and has no authorization rules yet', () => kube(403, 'Forbidden')],
  ])('backs off from transient errors (%s) and warns at the first and every tenth failure', async (_, error) => {
    const { at, loud: throwing, outcomes } = await callsAfter(error, 900);
    expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811]);
    expect(throwing().map(({ fields }) => fields['failures'])).toEqual([1, 11]);
    expect(new Set(outcomes)).toEqual(new Set(['error']));
  });

  it.each([[Number.NaN], ['x'], [{}], [Number.POSITIVE_INFINITY]])(
    'continues when an error asks to wait for %j, which is not a time',
    async (wait) => {
      const unexpected = () =>
        new KubeError({ status: 429, reason: 'TooManyRequests', message: '', retryAfterSeconds: wait as number });
      let runs = 0;
      const fixture = play(async () => {
        runs += 1;
        if (runs === 1) throw unexpected();
      });
      fixture.hand.say('a');
      fixture.hand.sync();
      await fixture.clock.advance(5000);
      expect(runs).toBe(2);
    },
  );

  it('waits at least as long as the server requests', async () => {
    expect((await callsAfter(() => kube(429, 'TooManyRequests', 50), 120)).at).toEqual([0, 50, 100]);
    const slow = () => new ProviderError('UNREACHABLE', '', { retryAfterSeconds: 40 });
    expect((await callsAfter(slow, 90)).at).toEqual([0, 40, 80]);
  });

  it('logs a program error with its stack, backs off, and continues with other keys', async () => {
    const seen: string[] = [];
    const fixture = play(async ({ name }) => {
      seen.push(name);
      if (name === 'bad') throw new TypeError('undefined is not a function');
    });
    fixture.hand.sync();
    fixture.hand.say('bad');
    fixture.hand.say('good');
    await fixture.clock.advance(1000);
    expect(seen).toEqual(['bad', 'good', 'bad']);
    expect(fixture.loud()[0]).toMatchObject({ level: 'error', fields: { err: expect.any(TypeError), failures: 1 } });
    fixture.end.abort();
    await fixture.done;
  });

  it('aborts the active reconcile on shutdown and does not count it as a failure', async () => {
    let reason: unknown;
    const fixture = play(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(signal.reason);
          });
        }),
    );
    fixture.hand.sync();
    fixture.hand.say('a');
    await fixture.clock.settle();
    fixture.end.abort('leadership is lost');
    await fixture.done;
    expect(reason).toBe('leadership is lost');
    expect(fixture.loud()).toEqual([]);
  });

  it('does not wait forever for a reconcile that ignores its signal, and logs its key', async () => {
    const fixture = play(() => new Promise(() => {}));
    fixture.hand.sync();
    fixture.hand.say('a');
    await fixture.clock.settle();
    fixture.end.abort();
    await fixture.clock.advance(10_000);
    await fixture.done;
    expect(fixture.loud()[0]).toMatchObject({ level: 'error', fields: { keys: ['a'] } });
  });

  it('aborts a reconcile at its deadline, so that a hanging call does not block a worker', async () => {
    const fixture = play(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      { deadlineSeconds: 0.02 },
    );
    fixture.hand.sync();
    fixture.hand.say('a');
    await fixture.clock.settle();
    await expect.poll(() => fixture.outcomes).toEqual(['error']);
    expect(fixture.loud()[0]?.level).toBe('warn');
    fixture.end.abort();
    await fixture.done;
  });
});

describe('a source whose objects change constantly', () => {
  it('enqueues keys at once, and then no more often than its minimum interval', async () => {
    const clock = new ManualClock();
    const listeners: ((change: ObjectChange<KubeObject>) => void)[] = [];
    const reflector = {
      synced: Promise.resolve(),
      onChange: (listener: (change: ObjectChange<KubeObject>) => void) => {
        listeners.push(listener);
        return () => {};
      },
    };
    const awoken: (number | undefined)[] = [];
    createKeySource(reflector, () => [{ name: 'cluster' }], { clock, seconds: 5 }).subscribe((_key, _lane, after) =>
      awoken.push(after),
    );
    const change = (name: string) =>
      listeners.map((report) =>
        report({ kind: 'updated', object: { apiVersion: 'v1', kind: 'X', metadata: { name } } }),
      );
    change('a');
    await clock.advance(1000);
    change('a');
    change('b');
    await clock.advance(3000);
    change('a');
    await clock.advance(1000);
    change('a');
    expect(awoken).toEqual([0, 4, 0, 1, 0]);
  });
});
