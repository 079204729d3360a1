import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import { ClusterConfigSpec } from '../../../api/cluster-config.ts';
import { findFieldOrigin, mergeClusterConfigs } from './merge-cluster-configs.ts';

const patch = (name: string) => ({ machine: { sysctls: { [name]: '1' } } });
const pool = { name: 'work', replicas: 2, size: 'small', labels: { disk: 'fast' }, patches: [patch('first')] };
const base = aSpec((raw) => {
  raw['workerPools'] = [pool];
  raw['talos'] = { version: '1.13.9', patches: [patch('all')] };
});
const named = (spec: object, name = 'big') => ({ name, spec: ClusterConfigSpec.parse(spec) });
const merge = (...specs: object[]) =>
  mergeClusterConfigs(
    base,
    specs.map((spec, i) => named(spec, `c${i}`)),
  );

describe('the merged spec of a Cluster', () => {
  it('equals that of its ProviderConfig if its ClusterConfigs are empty', () => {
    expect(merge({}, {})).toEqual({ spec: base, origins: new Map(), findings: [] });
  });

  it('has the numbers and sizes of its ClusterConfigs, the last one with priority', () => {
    const { spec } = merge(
      { controlPlane: { replicas: 1, schedulable: true }, workerPools: [{ name: 'work', replicas: 5 }] },
      { controlPlane: { size: 'large' }, workerPools: [{ name: 'work', replicas: 7 }] },
    );
    expect(spec.controlPlane).toEqual({ ...base.controlPlane, replicas: 1, schedulable: true, size: 'large' });
    expect(spec.workerPools).toEqual([{ ...base.workerPools[0], replicas: 7 }]);
  });

  it('adds labels and patches to the previous ones, and replaces taints', () => {
    const taint = { key: 'gpu', value: '', effect: 'NoSchedule' };
    const { spec } = merge({
      patches: [patch('more')],
      controlPlane: { patches: [patch('planes')] },
      workerPools: [{ name: 'work', labels: { gpu: 'yes' }, taints: [taint], patches: [patch('second')] }],
    });
    expect(spec.talos.patches).toEqual([patch('all'), patch('more')]);
    expect(spec.controlPlane.patches).toEqual([patch('planes')]);
    expect(spec.workerPools).toEqual([
      {
        ...base.workerPools[0],
        labels: { disk: 'fast', gpu: 'yes' },
        taints: [taint],
        patches: [patch('first'), patch('second')],
      },
    ]);
  });

  it('has additional pools after those of the ProviderConfig', () => {
    const { spec, findings } = merge({ workerPools: [{ name: 'gpu', replicas: 1, size: 'large' }] });
    expect(findings).toEqual([]);
    expect(spec.workerPools.map(({ name, replicas, size }) => [name, replicas, size])).toEqual([
      ['work', 2, 'small'],
      ['gpu', 1, 'large'],
    ]);
  });

  it('needs the replicas and the size of a pool that the ProviderConfig does not have', () => {
    const merged = merge({
      workerPools: [
        { name: 'work', replicas: 1 },
        { name: 'wrok', replicas: 3 },
      ],
    });
    expect(merged.findings).toEqual([
      {
        field: 'workerPools[1].size',
        reason: 'InvalidConfig',
        message: expect.stringMatching(/worker pool wrok, which the ProviderConfig does not have/),
      },
    ]);
    expect(findFieldOrigin(merged, 'workerPools[1].size')).toBe('ClusterConfig c0, workerPools[1].size');
  });

  it('does not change the spec of the ProviderConfig', () => {
    const before = structuredClone(base);
    merge({ patches: [patch('x')], workerPools: [{ name: 'work', replicas: 9, labels: { a: 'b' } }] });
    expect(base).toEqual(before);
  });
});

describe('the origin of a field', () => {
  const merged = merge(
    { patches: [patch('more')], workerPools: [{ name: 'gpu', replicas: 1, size: 'large' }] },
    {
      workerPools: [
        { name: 'work', patches: [patch('second')] },
        { name: 'gpu', size: 'small' },
      ],
    },
  );

  it.each([
    ['talos.patches[1]', 'ClusterConfig c0, patches[0]'],
    ['talos.patches[1].machine', 'ClusterConfig c0, patches[0].machine'],
    ['workerPools[0].patches[1]', 'ClusterConfig c1, workerPools[0].patches[0]'],
    ['workerPools[1].replicas', 'ClusterConfig c0, workerPools[0].replicas'],
    ['workerPools[1].size', 'ClusterConfig c1, workerPools[1].size'],
    ['workerPools[1].labels', 'ClusterConfig c0, workerPools[0].labels'],
  ])('of %s is %s', (field, origin) => {
    expect(findFieldOrigin(merged, field)).toBe(origin);
  });

  it.each([
    ['talos.patches[0]'],
    ['workerPools[0].patches[0]'],
    ['workerPools[0].size'],
    ['network.addressPool'],
    ['talos.patches[10]'],
  ])('of %s is the ProviderConfig', (field) => {
    expect(findFieldOrigin(merged, field)).toBeUndefined();
  });
});
