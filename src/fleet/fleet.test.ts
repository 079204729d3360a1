import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Log } from '../lib/log.ts';
import { SecretString } from '../lib/secret-string.ts';
import { Fleet } from './fleet.ts';
import type { ClusterEntry, FleetCluster } from './fleet-cluster.ts';
import { ClusterNotFoundError } from './fleet-errors.ts';
import type { ClusterTransition } from './journal.ts';

const entry = (id: string): ClusterEntry => ({
  id,
  connection: { server: `https://${id}:6443`, token: new SecretString('t') },
});

/** A fleet whose clusters sync at once, except those that the test names. */
function play({ slow = new Set<string>(), consumer }: { slow?: Set<string>; consumer?: () => Promise<void> } = {}) {
  const clock = new ManualClock();
  const lines: object[] = [];
  const add = (fields: object, message: string) => void lines.push({ ...fields, message });
  const log: Log = { debug: () => {}, info: add, warn: add, error: add, child: () => log };
  const openClient = () => ({ close: async () => {} }) as KubeClient;
  const cache = {
    open: ({ name }: FleetCluster) => ({
      synced: slow.has(name) ? new Promise<void>(() => {}) : Promise.resolve(),
      health: { lastError: slow.has(name) ? 'connection refused' : undefined },
    }),
  };
  const seconds: number[] = [];
  const uncertain: string[] = [];
  const observer = {
    transition: ({ state }: ClusterTransition) => void (state === 'kept' && uncertain.push('a transition')),
    synced: (value: number) => void seconds.push(value),
    listUncertain: () => void uncertain.push('a list'),
  };
  const consumers = consumer ? [consumer] : [];
  const fleet = new Fleet({ clock, log, openClient, caches: [cache], consumers, observer });
  return { fleet, clock, lines, seconds, uncertain };
}

it('F1: has a cluster by its name, and an error of its own for one that it does not have', async () => {
  const { fleet, clock } = play();
  fleet.upsert('one', entry('a'));
  await clock.settle();
  expect(fleet.get('one').id).toBe('a');
  expect(() => fleet.get('two')).toThrow(ClusterNotFoundError);
});

it('F2, F9: 10 clusters that do not answer hold up none of 200, and say why they are not engaged', async () => {
  const slow = new Set(Array.from({ length: 10 }, (_, i) => `c${i}`));
  const { fleet, clock, seconds } = play({ slow });
  for (let i = 0; i < 200; i += 1) fleet.upsert(`c${i}`, entry(`id-${i}`));
  await clock.advance(3000);
  expect(fleet.names()).toHaveLength(190);
  expect(seconds).toHaveLength(190);
  await clock.advance(30_000);
  const last = fleet.history('c0').find(({ state }) => state === 'failed');
  expect(last).toMatchObject({
    reason: 'start-failed',
    message: 'Its caches were not filled within 30 s: connection refused',
  });
  expect(fleet.names()).toHaveLength(190);
});

it('F7: a cluster that is removed twice, and one that was never there', async () => {
  const { fleet, clock } = play();
  fleet.upsert('one', entry('a'));
  await clock.settle();
  fleet.remove('one');
  fleet.remove('one');
  fleet.remove('two');
  await clock.settle();
  expect(fleet.names()).toEqual([]);
  expect(fleet.history().map(({ state }) => state)).toEqual(['syncing', 'engaged', 'gone']);
  fleet.upsert('one', entry('a'));
  await clock.settle();
  expect(fleet.names()).toEqual(['one']);
});

it('F8: a stop ends every cluster, and names those whose work does not end', async () => {
  const { fleet, clock } = play();
  fleet.upsert('one', entry('a'));
  fleet.upsert('two', entry('b'));
  await clock.settle();
  fleet.get('two').track(new Promise(() => {}));
  const { signal } = fleet.get('one');
  const stopped = fleet.stop(30);
  await clock.advance(31_000);
  expect(await stopped).toEqual(['two']);
  expect(signal.aborted).toBe(true);
  fleet.upsert('three', entry('c'));
  await clock.settle();
  expect(fleet.names()).toEqual([]);
});

it('F10, F11: remembers the last hundred changes, and logs each with name and id', async () => {
  const { fleet, clock, lines } = play();
  for (let i = 0; i < 60; i += 1) fleet.upsert(`c${i}`, entry(`id-${i}`));
  await clock.settle();
  expect(fleet.history()).toHaveLength(100);
  expect(lines.at(-1)).toEqual({ cluster: 'c59', clusterID: 'id-59', reason: 'added', message: 'cluster is engaged' });
});

it('F11: names the set of a cluster in its log lines, if the inventory does', async () => {
  const { fleet, clock, lines } = play();
  fleet.upsert('one', { ...entry('a'), clusterSet: 'homelab' });
  await clock.settle();
  expect(lines.at(-1)).toMatchObject({ cluster: 'one', clusterID: 'a', clusterset: 'homelab' });
});

it('F6: an uncertain list is in the journal and the log, is no change of a cluster, and every cluster stays', async () => {
  const { fleet, clock, lines, uncertain } = play();
  fleet.upsert('one', entry('a'));
  await clock.settle();
  fleet.reportUncertainList('The list lacks it.');
  expect(fleet.history().at(-1)).toMatchObject({
    state: 'kept',
    reason: 'list-uncertain',
    message: 'The list lacks it.',
  });
  expect(lines.at(-1)).toEqual({
    ...{ reason: 'list-uncertain', error: 'The list lacks it.', message: 'all clusters are kept' },
  });
  expect(uncertain).toEqual(['a list']);
  expect(fleet.names()).toEqual(['one']);
});

it.each(['', 'a#b', 'x'.repeat(64)])('refuses the name %j', async (name) => {
  const { fleet, clock } = play();
  fleet.upsert(name, entry('a'));
  await clock.settle();
  expect(fleet.history()).toMatchObject([{ state: 'rejected', reason: 'invalid-entry' }]);
  expect(fleet.names()).toEqual([]);
});
