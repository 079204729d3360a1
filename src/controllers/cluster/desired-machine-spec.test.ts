import { describe, expect, it } from 'vitest';
import { aMachine, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { aClusterView, ready } from '../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../api/machine.ts';
import { findSpecChange, listSpecUpdates } from './desired-machine-spec.ts';

const spec = {
  ...aSpec(),
  controlPlane: { ...aSpec().controlPlane, size: 'medium' },
  workerPools: [{ name: 'work', replicas: 1, size: 'large', labels: {}, taints: [], patches: [] }],
};
const talosVersion = spec.talos.version;
const machine = (pool?: string): Machine => {
  const made = aMachine(0, ready, pool);
  const status = { ...made.status!, applied: { talosVersion } };
  return { ...made, spec: { ...made.spec, size: 'small', talosVersion }, status };
};

describe('the spec of an existing Machine', () => {
  it('D11: follows the size of its pool, if its platform can change the hardware', () => {
    const change = (one: Machine, followsSize = true) => findSpecChange(one, { spec, followsSize });
    expect(change(machine())).toEqual({ size: 'medium' });
    expect(change(machine('work'))).toEqual({ size: 'large' });
    expect(change(machine('gone'))).toEqual({});
    expect(change(machine(), false)).toEqual({});
  });

  it('follows once its node has reported what it runs', () => {
    const view = aClusterView({ spec, config: aProviderConfig(), machines: [machine()], followsSize: true });
    const [update] = listSpecUpdates(view);
    expect(update?.change).toEqual({ size: 'medium' });
    expect(listSpecUpdates({ ...view, machines: [aMachine(0, ready)] })).toEqual([]);
  });
});
