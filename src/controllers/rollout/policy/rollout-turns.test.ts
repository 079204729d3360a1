import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine } from '../../../../test/support/fixtures/builders.ts';
import { clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
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

  it('are reconciled when it has ended, in the order in which they came, one more than may change', () => {
    const turns = new RolloutTurns();
    for (const name of ['d', 'c', 'b']) waitOf(turns, name);
    const namesOf = (next: readonly { readonly name: string }[]) => next.map(({ name }) => name);
    expect(namesOf(turns.takeWaiting('another'))).toEqual([]);
    expect(namesOf(turns.takeWaiting(profile))).toEqual(['d', 'c']);
    waitOf(turns, 'd');
    expect(namesOf(turns.takeWaiting(profile))).toEqual(['b', 'd']);
    expect(turns.takeWaiting(profile)).toEqual([]);
  });

  it('wait no more once they have their turn', () => {
    const turns = new RolloutTurns();
    expect(waitOf(turns, 'b')).toBeDefined();
    expect(turns.findEarlier(seen, request(b))).toBeUndefined();
    expect(turns.takeWaiting(profile)).toEqual([]);
  });

  it.each<[ClusterRollout['state'] | undefined, ClusterRollout['state'] | undefined, boolean]>([
    [undefined, 'Changing', false],
    ['Changing', 'Changing', false],
    ['Changing', 'Changed', true],
    ['Changed', 'Changed', false],
  ])('a record that was %s and is %s: the turn has ended is %s', (before, after, ended) => {
    const withRecord = (state: ClusterRollout['state'] | undefined) => ({
      ...a,
      status: {
        observedGeneration: 1,
        phase: 'Ready',
        providerStatus: state ? { rollout: { revision: 'r', state } } : {},
      },
    });
    expect(hasEndedTurn({ kind: 'updated', object: withRecord(after), before: withRecord(before) })).toBe(ended);
  });

  it('the deletion of a cluster ends its turn', () => {
    expect(hasEndedTurn({ kind: 'deleted', object: a, before: a })).toBe(true);
  });
});
