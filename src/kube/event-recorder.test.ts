import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Log } from '../lib/log.ts';
import { noLog } from '../lib/log.ts';
import { KubeError } from './errors.ts';
import { type Event, EventRecorder, type EventRecorderOptions } from './event-recorder.ts';
import { formatObjectKey, type KubeObject } from './resource.ts';

const rejection = (status: number, reason: string, name?: string) =>
  new KubeError({ status, reason, message: reason, details: name ? { name } : undefined });

/** The API server's part: Events by name. */
function eventServer() {
  const stored = new Map<string, Event>();
  let calls = 0;
  let nextError: KubeError | undefined;
  const call = <T>(work: () => T): Promise<T> => {
    calls += 1;
    return nextError ? Promise.reject(nextError) : new Promise((resolve) => resolve(work()));
  };
  const found = (key: { namespace?: string | undefined; name: string }): Event => {
    const event = stored.get(formatObjectKey(key));
    if (!event) throw rejection(404, 'NotFound', key.name);
    return event;
  };
  const client: EventRecorderOptions['client'] = {
    get: (_type, key) => call(() => found(key) as never),
    create: (_type, object) =>
      call(() => {
        const key = formatObjectKey({ namespace: object.metadata.namespace, name: object.metadata.name });
        if (stored.has(key)) throw rejection(409, 'AlreadyExists');
        stored.set(key, object as unknown as Event);
        return object;
      }),
    merge: (_type, key, patch) => call(() => Object.assign(found(key), patch) as never),
  };
  return {
    client,
    stored,
    all: () => [...stored.values()],
    calls: () => calls,
    sulk: (error: KubeError | undefined) => {
      nextError = error;
    },
  };
}

const machine = (name: string): KubeObject => ({
  apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
  kind: 'Machine',
  metadata: { name, uid: `uid-${name}`, resourceVersion: '7' },
});

function play(log: Log = noLog) {
  const clock = new ManualClock();
  const server = eventServer();
  const make = () => new EventRecorder({ client: server.client, clock, log, component: 'talos', instance: 'pod-1' });
  return { clock, server, make, recorder: make() };
}

describe('events', () => {
  it('have a source, a reason and an object, in the namespace where kubectl reads them', async () => {
    const { server, recorder } = play();
    recorder.record(machine('m'), 'Normal', 'Bootstrapped', 'The cluster is bootstrapped.');
    await recorder.flush();
    expect(server.all()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^m\.[a-z2-7]{8}$/), namespace: 'default' },
        involvedObject: {
          apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
          kind: 'Machine',
          name: 'm',
          uid: 'uid-m',
          resourceVersion: '7',
        },
        type: 'Normal',
        reason: 'Bootstrapped',
        message: 'The cluster is bootstrapped.',
        count: 1,
        firstTimestamp: '2026-11-21T09:00:00Z',
        lastTimestamp: '2026-11-21T09:00:00Z',
        source: { component: 'talos' },
        reportingComponent: 'talos',
        reportingInstance: 'pod-1',
      },
    ]);
  });

  it('count repeated messages, also after a restart and after the server deleted the Event', async () => {
    const { clock, server, make, recorder } = play();
    const emit = (by: EventRecorder) => by.record(machine('m'), 'Warning', 'Parked', 'The pool is full.');
    emit(recorder);
    emit(recorder);
    await recorder.flush();
    expect(server.all().map(({ count }) => count)).toEqual([2]);
    await clock.advance(60_000);
    const restarted = make();
    emit(restarted);
    await restarted.flush();
    expect(server.all().map(({ count, lastTimestamp }) => [count, lastTimestamp])).toEqual([
      [3, '2026-11-21T09:01:00Z'],
    ]);
    server.stored.clear();
    emit(restarted);
    await restarted.flush();
    expect(server.all().map(({ count }) => count)).toEqual([1]);
  });

  it('are rate-limited per object: other objects are not affected, and the limit refills over time', async () => {
    const { clock, server, recorder } = play();
    for (let i = 0; i < 1000; i += 1) recorder.record(machine('loud'), 'Warning', 'Odd', `Odd thing ${i}.`);
    recorder.record(machine('quiet'), 'Normal', 'Fine', 'All is well.');
    await recorder.flush();
    expect(server.stored.size).toBe(26);
    await clock.advance(300_000);
    for (let i = 0; i < 10; i += 1) recorder.record(machine('loud'), 'Warning', 'Odd', `Another thing ${i}.`);
    await recorder.flush();
    expect(server.stored.size).toBe(27);
  });

  it('are paced when there are many, so that reconciles go first; Warnings precede all others', async () => {
    const { clock, server, recorder } = play();
    for (let i = 0; i < 200; i += 1) recorder.record(machine(`m-${i}`), 'Normal', 'Granted', 'Granted.');
    await clock.advance(1000);
    expect(server.stored.size).toBe(60);
    recorder.record(machine('bad'), 'Warning', 'Parked', 'It needs a change.');
    await clock.advance(200);
    expect(server.all().map(({ reason }) => reason)).toContain('Parked');
    await clock.advance(14_000);
    expect(server.stored.size).toBe(201);
  });

  it('are written without pauses on shutdown', async () => {
    const { server, recorder } = play();
    for (let i = 0; i < 200; i += 1) recorder.record(machine(`m-${i}`), 'Normal', 'Granted', 'Granted.');
    await recorder.close();
    expect(server.stored.size).toBe(200);
  });

  it('that cannot be written cost a log line, and later events are written again', async () => {
    const warnings: string[] = [];
    const log: Log = { ...noLog, warn: (_, message) => void warnings.push(message), child: () => log };
    const { server, recorder } = play(log);
    server.sulk(rejection(403, 'Forbidden'));
    recorder.record(machine('m'), 'Normal', 'One', 'One.');
    await recorder.flush();
    server.sulk(undefined);
    recorder.record(machine('m'), 'Normal', 'Two', 'Two.');
    await recorder.flush();
    expect(warnings).toEqual(['an event could not be written']);
    expect(server.all().map(({ reason }) => reason)).toEqual(['Two']);
  });

  it('are not written after the leadership signal aborts', async () => {
    const { clock, server } = play();
    const leadership = new AbortController();
    const { signal } = leadership;
    const recorder = new EventRecorder({ client: server.client, clock, log: noLog, component: 'talos', signal });
    for (let i = 0; i < 3; i += 1) recorder.record(machine(`m-${i}`), 'Normal', 'One', 'One.');
    leadership.abort(new Error('lost'));
    recorder.record(machine('late'), 'Normal', 'One', 'One.');
    await recorder.close();
    expect(server.calls()).toBe(0);
  });

  it('delay the shutdown by at most five seconds, however many wait for a silent server', async () => {
    const { clock } = play();
    const noResponse = (_type: unknown, _object: unknown, signal?: AbortSignal) =>
      new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const client = { ...eventServer().client, create: noResponse };
    const recorder = new EventRecorder({ client, clock, log: noLog, component: 'talos' });
    for (let i = 0; i < 50; i += 1) recorder.record(machine(`m-${i}`), 'Normal', 'One', 'One.');
    const closed = recorder.close();
    await clock.advance(5000);
    await closed;
  });

  it('about actions are not left out because of conditions that change often', async () => {
    const { recorder, server } = play();
    for (let i = 0; i < 60; i += 1) recorder.record(machine('cp-0'), 'Warning', 'NotReady', `${i}`, 'condition');
    recorder.record(machine('cp-0'), 'Normal', 'NodeReplaced', 'It was replaced.');
    await recorder.close();
    const reasons = server.all().map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'NotReady')).toHaveLength(25);
    expect(reasons).toContain('NodeReplaced');
  });

  it('are cut to the limits of the API server: 1024 characters, and a valid name', async () => {
    const { server, recorder } = play();
    recorder.record(machine('m'.repeat(253)), 'Normal', 'Long', 'x'.repeat(5000));
    await recorder.flush();
    const [event] = server.all();
    expect([event?.message.length, (event?.metadata.name.length ?? 999) <= 253]).toEqual([1024, true]);
  });
});

describe('events of many namespaces', () => {
  const inNamespace = (namespace: string, i: number): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: `s${i}`, uid: `${namespace}-${i}` },
  });

  it('are written in turn: thousands of events of one namespace neither delay others nor fill the queue', async () => {
    const { clock, server, recorder } = play();
    for (let i = 0; i < 6000; i += 1) recorder.record(inNamespace('noisy', i), 'Warning', 'Odd', `thing ${i}`);
    for (let i = 0; i < 20; i += 1) recorder.record(inNamespace('quiet', i), 'Warning', 'Odd', `thing ${i}`);
    for (let i = 0; i < 100; i += 1) await clock.settle();
    // The first fifty are written at once.
    const written = server.all().map(({ metadata }) => metadata.namespace);
    expect(written).toHaveLength(50);
    expect(written.filter((namespace) => namespace === 'quiet')).toHaveLength(20);
    const closing = recorder.close(0);
    await clock.advance(1000);
    await closing;
  });
});
