import { describe, expect, it } from 'vitest';
import { aCluster, aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
import { type ClusterRollout, nextClusterRollout, readClusterRollout } from './cluster-rollout.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: [] };
const machine = (status: Partial<MachineStatus> = {}, revision?: string): Machine => {
  const made = aMachine();
  const spec = { ...made.spec, ...(revision && { revision }) };
  return { ...made, spec, status: { observedGeneration: 1, phase: 'Ready', conditions: [], compared: 's', ...status } };
};
const next = (before: ClusterRollout | undefined, ...machines: Machine[]) =>
  nextClusterRollout(before, machines, { revision: 'r', spec: 's' });
const [current, changing, changed] = (['Current', 'Changing', 'Changed'] as const).map(
  (state): ClusterRollout => ({ revision: 'r', state }),
);

describe('the record of how far a cluster has followed its ProviderConfig', () => {
  it('begins when a Machine is changed, and ends when none waits', () => {
    const earlier = { revision: 'q', state: 'Changed' } as const;
    expect(next(earlier, machine({ pending }), machine())).toBe(earlier);
    expect(next(earlier, machine({ pending }, 'new'), machine())).toEqual(changing);
    expect(next(changing, machine({ pending }), machine())).toEqual(changing);
    expect(next(changing, machine({ compared: 'old' }))).toEqual(changing);
    expect(next(changing, machine(), machine())).toEqual(changed);
  });

  it('has a change that began and ended unseen', () => {
    const made = machine();
    const released = (releasedFor: string): Machine => ({ ...made, spec: { ...made.spec, releasedFor } });
    expect(next(undefined, released('r'), machine())).toEqual(changed);
    expect(next(undefined, released('q'), machine())).toEqual(current);
  });

  it('does not claim a change that no Machine needed', () => {
    expect(next(undefined, machine())).toEqual(current);
    expect(next(undefined)).toBeUndefined();
  });

  it('stays for later changes of the cluster alone', () => {
    expect(next(changed, machine({ pending }, 'new'))).toEqual(changed);
    expect(next(current, machine({ pending }))).toEqual(current);
  });

  it('is read from the status, where anything may stand', () => {
    const read = (rollout: unknown) =>
      readClusterRollout({
        ...aCluster(),
        status: { observedGeneration: 1, phase: '', conditions: [], providerStatus: { rollout } },
      });
    expect(read({ revision: 'r', state: 'Changed' })).toEqual(changed);
    expect(
      [undefined, null, 'x', [], {}, { revision: 1, state: 'Changed' }, { revision: 'r', state: 'no' }].map(read),
    ).toEqual(Array(7).fill(undefined));
  });
});
