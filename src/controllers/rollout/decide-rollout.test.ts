import { describe, expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { updatableClasses } from '../../engine/change-class.ts';
import { decideRollout, type RolloutView, revisionToRelease } from './decide-rollout.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: ['machine.time'] };

const provisioned: MachineStatus['progress'] = {
  ...{ plan: 'provision', step: '', since: '', failures: 0, finishedAt: 'then', facts: {} },
};

function machine(
  slot: number,
  { status, ...change }: Partial<Pick<Machine, 'metadata' | 'spec'>> & { status?: Partial<MachineStatus> } = {},
): Machine {
  const made = aMachine(slot, [aCondition('Ready')], change.spec?.pool);
  const before = made.status ?? { observedGeneration: 1, phase: 'Ready', conditions: [] };
  return {
    ...made,
    metadata: { ...made.metadata, ...change.metadata },
    spec: { ...made.spec, ...change.spec },
    status: { ...before, progress: provisioned, compared: 'spec', ...status },
  };
}

const decide = (machines: Machine[], view: Partial<RolloutView> = {}) =>
  decideRollout({
    ...{ machines, missing: [], spec: 'spec', isReachable: true, isTrustPending: false, pools: ['b', 'a'] },
    ...{ maxUnavailable: 1, ...view },
  });
/** The names of the Machines that may be next, without that of the cluster; or why none is. */
const next = (...given: Parameters<typeof decide>) => {
  const decision = decide(...given);
  if (decision.kind === 'update') return decision.candidates.map(nameOf).join(' ');
  return 'message' in decision ? decision.message : decision.kind;
};
const nameOf = ({ spec }: Machine) => `${spec.pool}${spec.slot}`;

const waiting = (slot: number) => machine(slot, { status: { pending } });
const progress = (plan: 'provision' | 'update' | 'repair'): MachineStatus['progress'] => ({
  plan,
  step: 's',
  since: '',
  failures: 0,
  facts: {},
});
const released = (slot: number, status: Partial<MachineStatus> = {}) => {
  const made = machine(slot, { status: { pending, ...status } });
  return { ...made, spec: { ...made.spec, revision: 'new' } };
};

const unready = [aCondition('Ready', 'False')];
const worker = (pool: string, slot: number, status: Partial<MachineStatus> = {}, revision?: string) =>
  machine(slot, { spec: { ...aMachine().spec, pool, role: 'worker', slot, ...(revision && { revision }) }, status });
const updateFailed = { ...aCondition('UpToDate', 'False'), reason: 'UpdateFailed', message: 'Talos refuses it.' };

describe('the rollout of a cluster', () => {
  it('does nothing for Machines that are up to date', () => {
    expect(decide([machine(0)])).toEqual({ kind: 'none' });
  });

  it.each([...updatableClasses])('releases a change of class %s', (name) => {
    expect(next([machine(0, { status: { pending: { ...pending, class: name } } })])).toBe('cp0');
  });

  it('leaves a change that cannot be made to the user, and goes on with the others', () => {
    const refused = machine(0, { status: { pending: { ...pending, class: 'refused' } } });
    const replaced = machine(1, { status: { pending: { ...pending, class: 'replace' } } });
    expect(decide([refused])).toEqual({ kind: 'none' });
    expect(next([refused, replaced])).toBe('cp1');
    expect(next([refused, waiting(2)])).toBe('cp2');
  });

  it('D39: replaces one Machine at a time, and changes no other meanwhile', () => {
    const replace: MachineStatus['pending'] = { ...pending, class: 'replace' };
    const view = { maxUnavailable: 3 };
    const [first, second] = [worker('a', 0, { pending: replace }, 'new'), worker('a', 1, { pending: replace })];
    expect(next([worker('a', 0, { pending: replace }), second], view)).toBe('a0');
    expect(next([first, second], view)).toMatch(/a-0: /);
    expect(next([first, worker('a', 1, { pending })], view)).toMatch(/a-0: /);
    expect(next([worker('a', 0, { pending }, 'new'), second], view)).toMatch(/a-0: /);
  });

  it('names every control plane that may be next, because the leader of etcd is the last', () => {
    expect(next([machine(0), waiting(1), waiting(2), worker('a', 0, { pending })])).toBe('cp1 cp2');
  });

  it('D28: changes control planes before workers, and pools in the order of the spec', () => {
    const [a, b] = [worker('a', 0, { pending }), worker('b', 0, { pending })];
    expect(next([a, b, waiting(0)])).toBe('cp0');
    expect(next([a, b])).toBe('b0');
    expect(next([a, worker('gone', 0, { pending })])).toBe('a0');
  });

  it('changes a Machine that is not ready before the others of its pool', () => {
    expect(next([worker('a', 0, { pending }), worker('a', 1, { pending, conditions: unready })])).toBe('a1');
  });

  it('D28: changes as many Machines of a pool as may be unavailable, and counts those that are not ready', () => {
    const changing = worker('a', 0, { pending }, 'new');
    const more = [worker('a', 1, { pending }), worker('a', 2, { pending })];
    expect(next([changing, ...more])).toMatch(/a-0: The update begins/);
    expect(next([changing, ...more], { maxUnavailable: 2 })).toBe('a1');
    const ill = worker('a', 3, { conditions: unready });
    expect(next([changing, ...more, ill], { maxUnavailable: 2 })).toMatch(/a-0: The update begins/);
    expect(next([changing, ...more, ill], { maxUnavailable: 3 })).toBe('a1');
    expect(next([...more, ill], { maxUnavailable: 1 })).toMatch(/a-3 is not ready/);
  });

  it('never changes two control planes, or Machines of two pools, at the same time', () => {
    expect(next([released(0), waiting(1)], { maxUnavailable: 3 })).toMatch(/cp-0: The update begins/);
    const changing = worker('b', 0, { pending }, 'new');
    expect(next([changing, worker('a', 0, { pending })], { maxUnavailable: 3 })).toMatch(/b-0: The update begins/);
  });

  it.each<[string, Machine[], Partial<RolloutView>, RegExp]>([
    ['another Machine is being updated', [released(0), waiting(1)], {}, /cp-0: The update begins/],
    [
      'the steps of another one are not finished',
      [machine(0, { status: { progress: progress('update') } }), waiting(1)],
      {},
      /cp-0/,
    ],
    ['a Machine is not ready', [machine(0, { status: { conditions: unready } }), waiting(1)], {}, /cp-0 is not ready/],
    [
      'a Machine is being repaired',
      [machine(0, { status: { progress: progress('repair') } }), waiting(1)],
      {},
      /cp-0 is being repaired/,
    ],
    [
      'a Machine is being provisioned',
      [machine(0, { status: { progress: progress('provision') } }), waiting(1)],
      {},
      /cp-0 is being provisioned/,
    ],
    [
      'a Machine is being deleted',
      [machine(0, { metadata: { name: 'gone', deletionTimestamp: 'now' } }), waiting(1)],
      {},
      /gone is being deleted/,
    ],
    [
      'a Machine was compared with an older spec',
      [machine(0, { status: { compared: 'old' } }), waiting(1)],
      {},
      /cp-0 was not compared/,
    ],
    [
      'a Machine was compared before its own spec changed',
      [machine(0, { metadata: { name: 'prod-cp-0', generation: 2 } }), waiting(1)],
      {},
      /cp-0 was not compared/,
    ],
    ['a Machine does not exist yet', [waiting(0)], { missing: ['new-one'] }, /new-one does not exist yet/],
    ['the API server is silent', [waiting(0)], { isReachable: false }, /does not answer/],
    ['OIDC issuers are being changed', [waiting(0)], { isTrustPending: true }, /OIDC/],
    ['a user holds it up', [waiting(0)], { hold: { reason: 'RolloutPaused', message: 'It is paused.' } }, /paused/],
  ])('waits while %s', (_, machines, view, message) => {
    expect(decide(machines, view)).toMatchObject({ kind: 'wait', message: expect.stringMatching(message) });
  });

  it('stops at a Machine that could not be updated, and says what to do', () => {
    const stuck = released(0, { progress: progress('update'), conditions: [updateFailed] });
    const message = expect.stringMatching(/^prod-.*cp-0: Talos refuses it\. .*rollout: retry/);
    expect(decide([stuck, waiting(1)])).toEqual({ kind: 'failed', machine: stuck, message });
  });

  it('finishes a Machine whose desired state has changed meanwhile, even if it has failed or is held up', () => {
    const changed = released(0, { progress: progress('update'), pending: { ...pending, revision: 'newer' } });
    const hold = { reason: 'RolloutPaused', message: 'It is paused.' } as const;
    for (const conditions of [[], [updateFailed]]) {
      const one = { ...changed, status: { ...changed.status!, conditions } };
      expect(decide([one, waiting(1)], { hold })).toEqual({ kind: 'update', candidates: [one], isResumed: true });
      expect(revisionToRelease(one)).toBe('newer');
    }
  });

  it('finishes a Machine whose change was taken back before it was made', () => {
    const { pending: _, ...before } = released(0, { progress: progress('update'), applied: { revision: 'old' } })
      .status!;
    const back = { ...released(0), status: before };
    expect(next([back])).toBe('cp0');
    expect(revisionToRelease(back)).toBe('old');
  });
});
