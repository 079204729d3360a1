import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../lib/clock.ts';
import { SecretString } from '../lib/secret-string.ts';
import { ClusterSlot } from './cluster-slot.ts';
import { type ClusterEntry, FleetCluster } from './fleet-cluster.ts';

const entry = (id: string, { server = 'https://a:6443', token = 'first' } = {}): ClusterEntry => ({
  id,
  connection: { server, ca: 'ca', token: new SecretString(token) },
});

interface Start {
  readonly cluster: FleetCluster;
  readonly server: string;
  finish(): void;
  fail(error: Error): void;
}

/** A slot whose clusters start when the test lets them. */
function play(first: ClusterEntry) {
  const clock: Clock & ManualClock = new ManualClock();
  const starts: Start[] = [];
  const lines: string[] = [];
  const refused = new Set<string>();
  const open = () => ({ close: async () => {} }) as KubeClient;
  const slot = new ClusterSlot('one', first, {
    start: (name, wanted, signal) =>
      new Promise((resolve, reject) => {
        const cluster = new FleetCluster(name, wanted, open);
        signal.addEventListener('abort', () => reject(signal.reason));
        const finish = () => resolve(cluster);
        starts.push({ cluster, server: wanted.connection.server, finish, fail: reject });
      }),
    engage: async ({ id }) => {
      if (refused.has(id)) throw new Error('no');
    },
    report: (_, state, reason) => void lines.push(`${state} ${reason}`),
    sleep: (seconds, signal) => clock.sleep(seconds * 1000, signal).catch(() => {}),
  });
  return { slot, clock, starts, lines, refused };
}

it('is not a cluster before its caches are filled', async () => {
  const { slot, starts, clock, lines } = play(entry('a'));
  expect(slot.cluster).toBeUndefined();
  starts[0]?.finish();
  await clock.settle();
  expect(slot.cluster?.id).toBe('a');
  expect(lines).toEqual(['syncing added', 'engaged added']);
});

it('F4: changes nothing for the same entry, and only the credentials for another token', async () => {
  const { slot, starts, clock, lines } = play(entry('a'));
  starts[0]?.finish();
  await clock.settle();
  const { cluster } = slot;
  slot.want(entry('a'));
  await clock.settle();
  slot.want(entry('a', { token: 'second' }));
  await clock.settle();
  expect(slot.cluster).toBe(cluster);
  expect((await cluster?.connection.credentials())?.headers).toEqual({ authorization: 'Bearer second' });
  expect(cluster?.signal.aborted).toBe(false);
  expect(starts).toHaveLength(1);
  expect(lines).toEqual(['syncing added', 'engaged added', 'engaged credentials-changed']);
});

it('F4: engages another server of the same cluster before the former one is let go', async () => {
  const { slot, starts, clock } = play(entry('a'));
  starts[0]?.finish();
  await clock.settle();
  const before = slot.cluster;
  slot.want(entry('a', { server: 'https://b:6443' }));
  await clock.settle();
  expect([slot.cluster, before?.signal.aborted]).toEqual([before, false]);
  starts[1]?.finish();
  await clock.settle();
  expect(slot.cluster?.connection.server).toBe('https://b:6443');
  expect(before?.signal.aborted).toBe(true);
});

it('lets a cluster go before another one of its name starts', async () => {
  const { slot, starts, clock, lines } = play(entry('a'));
  starts[0]?.finish();
  await clock.settle();
  const before = slot.cluster;
  slot.want(entry('b'));
  await clock.settle();
  expect([slot.cluster, before?.signal.aborted]).toEqual([undefined, true]);
  starts[1]?.finish();
  await clock.settle();
  expect(lines).toEqual(['syncing added', 'engaged added', 'gone other-cluster', 'syncing added', 'engaged added']);
});

it('F7: the newest entry wins while one starts, and a removal ends it', async () => {
  const { slot, starts, clock, lines } = play(entry('a'));
  slot.want(entry('a', { server: 'https://b:6443' }));
  slot.want(entry('a', { server: 'https://c:6443' }));
  await clock.settle();
  expect(starts.map(({ server }) => server)).toEqual(['https://a:6443', 'https://c:6443']);
  slot.remove('removed');
  await slot.ended;
  expect([slot.isOver, slot.cluster]).toEqual([true, undefined]);
  expect(lines).toEqual(['syncing added', 'syncing added', 'gone removed']);
});

it('tries again after growing pauses, and at once with a new entry', async () => {
  const { slot, starts, clock, lines } = play(entry('a'));
  starts[0]?.fail(new Error('silent'));
  await clock.settle();
  await clock.advance(60_000);
  expect(starts).toHaveLength(2);
  starts[1]?.fail(new Error('silent'));
  await clock.settle();
  slot.want(entry('a', { token: 'second' }));
  await clock.settle();
  starts[2]?.finish();
  await clock.settle();
  expect(slot.cluster?.id).toBe('a');
  expect(lines.filter((line) => line.startsWith('failed'))).toEqual(['failed start-failed', 'failed start-failed']);
});

it('a consumer that does not take the cluster gets it again', async () => {
  const { slot, starts, clock, lines, refused } = play(entry('a'));
  refused.add('a');
  starts[0]?.finish();
  await clock.settle();
  expect(starts[0]?.cluster.signal.aborted).toBe(true);
  refused.clear();
  await clock.advance(60_000);
  starts[1]?.finish();
  await clock.settle();
  expect(slot.cluster).toBe(starts[1]?.cluster);
  expect(lines).toContain('failed consumer-failed');
});

it('is followed again when it is wanted before its removal is over', async () => {
  const { slot, starts, clock } = play(entry('a'));
  starts[0]?.finish();
  await clock.settle();
  slot.remove('removed');
  slot.want(entry('a'));
  await clock.settle();
  starts[1]?.finish();
  await clock.settle();
  expect(slot.isOver).toBe(false);
  expect(slot.cluster?.id).toBe('a');
});
