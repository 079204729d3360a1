import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine } from '../../../../test/support/fixtures/builders.ts';
import { clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
import { objectKeyOf } from '../../../kube/resource.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import type { ClusterRollout } from './cluster-rollout.ts';
import { hasEndedTurn, RolloutTurns } from './rollout-turns.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: [] };
const [a, b] = ['a', 'b'].map((name) => aCluster({}, { name, uid: `uid-of-${name}` })) as [
  ReturnType<typeof aCluster>,
  ReturnType<typeof aCluster>,
];
function machineOf(cluster: typeof a, version: number, status: Partial<MachineStatus> = { pending }): Machine {
  const made = aMachine(0, [aCondition('Ready')]);
  return {
    ...made,
    metadata: { ...made.metadata, name: `${cluster.metadata.name}-cp-0`, resourceVersion: String(version) },
    spec: { ...made.spec, clusterRef: clusterIdentityOf(cluster) },
    status: { observedGeneration: 1, phase: 'Ready', conditions: [], ...status },
  };
}
const stores = (...machines: Machine[]) => ({
  stores: {
    clusters: { by: () => [a, b] },
    machines: {
      by: (_: string, key: string) => machines.filter((one) => clusterIdentityKey(one.spec.clusterRef) === key),
    },
  },
});
const rolloutStatus = (state: ClusterRollout['state'] | undefined) => ({
  observedGeneration: 1,
  phase: 'Ready',
  providerStatus: state ? { rollout: { revision: 'r', state } } : {},
});
const request = (cluster: typeof a) => ({ cluster, revision: 'r', maxClusters: 1 });

const [waitingA, waitingB] = [machineOf(a, 8), machineOf(b, 9)];
const seen = stores(waitingA, waitingB);

describe('the turns of a ProviderConfig', () => {
  it('two clusters that ask at the same moment do not both begin', async () => {
    const turns = new RolloutTurns();
    const uses = await Promise.all(
      [waitingA, waitingB].map((machine, i) => turns.use(seen, request(i === 0 ? a : b), machine, async () => machine)),
    );
    expect(uses).toEqual([waitingA, expect.stringMatching(/Cluster team\/a .*first to change/)]);
  });

  it('a turn is not kept after the caches show the change, even if the cluster waits for the next one', async () => {
    const turns = new RolloutTurns();
    await turns.use(seen, request(a), waitingA, async () => machineOf(a, 12));
    expect(turns.findEarlier(seen, request(b))).toMatch(/team\/a/);
    expect(turns.findEarlier(stores(machineOf(a, 12), waitingB), request(b))).toBeUndefined();
    expect(turns.findEarlier(seen, request(b))).toBeUndefined();
  });

  it('a write that fails gives the turn back', async () => {
    const turns = new RolloutTurns();
    const failing = turns.use(seen, request(a), waitingA, () => Promise.reject(new Error('conflict')));
    await expect(failing).rejects.toThrow('conflict');
    expect(turns.findEarlier(seen, request(b))).toBeUndefined();
  });

  it('after a restart, the Machine that is being changed shows whose turn it is', () => {
    const changing = machineOf(a, 10);
    changing.spec.revision = 'new';
    expect(new RolloutTurns().findEarlier(stores(changing, waitingB), request(b))).toMatch(/team\/a/);
  });
});

describe('the clusters that wait for a turn', () => {
  const changing = machineOf(a, 10);
  changing.spec.revision = 'new';
  const busy = stores(changing, machineOf(b, 9));
  const waitOf = (turns: RolloutTurns, name: string) =>
    turns.findEarlier(busy, request(aCluster({}, { name, uid: `uid-of-${name}` })));
  const { profile } = a.spec;
  const keyOf = (name: string) => objectKeyOf(aCluster({}, { name }));
  const enqueuedBy = (turns: RolloutTurns): string[] => {
    const names: string[] = [];
    turns.onEnqueue(({ name }) => names.push(name));
    return names;
  };

  it('are enqueued when it has ended, one after the other, in the order in which they came', () => {
    const turns = new RolloutTurns();
    const names = enqueuedBy(turns);
    for (const name of ['d', 'c', 'b']) waitOf(turns, name);
    expect(turns.countBefore(request(b))).toBe(2);
    turns.enqueueNext(seen, 'another');
    turns.enqueueNext(busy, profile);
    expect(names).toEqual([]);
    turns.enqueueNext(seen, profile);
    turns.enqueueNext(seen, profile);
    expect(names).toEqual(['d']);
    // Another one was faster.
    waitOf(turns, 'd');
    turns.enqueueNext(seen, profile);
    expect(names).toEqual(['d', 'd']);
  });

  it('are enqueued as many at once as may change', () => {
    const proven = { ...a, status: rolloutStatus('Changed') };
    const free = { stores: { ...seen.stores, clusters: { by: () => [proven, b] } } };
    const turns = new RolloutTurns();
    const names = enqueuedBy(turns);
    for (const name of ['d', 'c', 'b'])
      turns.findEarlier(busy, { ...request(aCluster({}, { name, uid: `uid-of-${name}` })), maxClusters: 2 });
    turns.enqueueNext(free, profile);
    turns.enqueueNext(free, profile);
    expect(names).toEqual(['d', 'c']);
  });

  it('leave a turn that they do not use to the next one', async () => {
    const turns = new RolloutTurns();
    const names = enqueuedBy(turns);
    for (const name of ['d', 'b', 'c']) waitOf(turns, name);
    turns.enqueueNext(seen, profile);
    // It was paused, for example, and so does not ask.
    turns.passOn(seen, keyOf('d'));
    expect(names).toEqual(['d', 'b']);
    // It may begin, and its API server does not answer, for example.
    expect(turns.findEarlier(seen, request(b))).toBeUndefined();
    turns.passOn(seen, keyOf('b'));
    expect(names).toEqual(['d', 'b', 'c']);
    turns.passOn(seen, keyOf('c'));
    turns.passOn(seen, keyOf('a'));
    expect(names).toEqual(['d', 'b', 'c']);
  });

  it('leave no turn that they use, and none that is not theirs', async () => {
    const turns = new RolloutTurns();
    const names = enqueuedBy(turns);
    for (const name of ['b', 'c']) waitOf(turns, name);
    turns.enqueueNext(seen, profile);
    await turns.use(seen, request(b), waitingB, async () => machineOf(b, 12));
    turns.passOn(seen, keyOf('b'));
    turns.passOn(seen, keyOf('c'));
    expect(names).toEqual(['b']);
  });

  it('wait no more once they have their turn', () => {
    const turns = new RolloutTurns();
    const names = enqueuedBy(turns);
    expect(waitOf(turns, 'b')).toBeDefined();
    expect(turns.findEarlier(seen, request(b))).toBeUndefined();
    turns.enqueueNext(seen, profile);
    expect(names).toEqual([]);
  });

  it.each<[ClusterRollout['state'] | undefined, ClusterRollout['state'] | undefined, boolean]>([
    [undefined, 'Changing', false],
    ['Changing', 'Changing', false],
    ['Changing', 'Changed', true],
    ['Changed', 'Changed', false],
    [undefined, 'Changed', true],
    ['Changing', 'Current', true],
    // It had no turn.
    [undefined, 'Current', false],
  ])('a record that was %s and is %s: the turn has ended is %s', (before, after, ended) => {
    const withRecord = (state: ClusterRollout['state'] | undefined) => ({ ...a, status: rolloutStatus(state) });
    expect(hasEndedTurn({ kind: 'updated', object: withRecord(after), before: withRecord(before) })).toBe(ended);
  });

  it('the deletion of a cluster ends its turn', () => {
    expect(hasEndedTurn({ kind: 'deleted', object: a, before: a })).toBe(true);
  });
});
