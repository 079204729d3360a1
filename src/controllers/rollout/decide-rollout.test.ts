import { describe, expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { decideRollout, type RolloutView } from './decide-rollout.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: ['machine.time'] };

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
    status: { ...before, compared: 'spec', ...status },
  };
}

const decide = (machines: Machine[], view: Partial<RolloutView> = {}) =>
  decideRollout({ machines, missing: [], spec: 'spec', isReachable: true, isTrustPending: false, ...view });

const waiting = (slot: number) => machine(slot, { status: { pending } });
const progress = (plan: 'provision' | 'update'): MachineStatus['progress'] => ({
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

describe('the rollout of a cluster', () => {
  it('does nothing for Machines that are up to date, or that need more than a new configuration', () => {
    expect(decide([machine(0)])).toEqual({ kind: 'none' });
    expect(decide([machine(0, { status: { pending: { ...pending, class: 'restart' } } })])).toEqual({ kind: 'none' });
  });

  it('updates the first Machine that differs', () => {
    const [one, two, three] = [machine(0), waiting(1), waiting(2)];
    expect(decide([one, two, three])).toEqual({ kind: 'update', machine: two, revision: 'new' });
  });

  it.each<[string, Machine[], Partial<RolloutView>, RegExp]>([
    ['another Machine is being updated', [released(0), waiting(1)], {}, /cp-0: The update begins/],
    [
      'the steps of another one are not finished',
      [machine(0, { status: { progress: progress('update') } }), waiting(1)],
      {},
      /cp-0/,
    ],
    [
      'a Machine is not ready',
      [machine(0, { status: { conditions: [aCondition('Ready', 'False')] } }), waiting(1)],
      {},
      /cp-0 is not ready/,
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
    ['a Machine does not exist yet', [waiting(0)], { missing: ['new-one'] }, /new-one does not exist yet/],
    ['the API server is silent', [waiting(0)], { isReachable: false }, /does not answer/],
    ['OIDC issuers are being changed', [waiting(0)], { isTrustPending: true }, /OIDC/],
  ])('waits while %s', (_, machines, view, message) => {
    expect(decide(machines, view)).toEqual({ kind: 'wait', message: expect.stringMatching(message) });
  });

  it('stops at a Machine that could not be updated', () => {
    const failed = { ...aCondition('UpToDate', 'False'), reason: 'UpdateFailed', message: 'Talos refuses it.' };
    const stuck = released(0, { progress: progress('update'), conditions: [failed] });
    expect(decide([stuck, waiting(1)])).toEqual({ kind: 'failed', message: expect.stringMatching(/Talos refuses it/) });
  });

  it('begins again with a Machine whose desired configuration has changed meanwhile', () => {
    const changed = released(0, { pending: { ...pending, revision: 'newer' } });
    expect(decide([changed])).toMatchObject({ kind: 'update', revision: 'newer' });
  });
});
