import { describe, expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { findReplacementProblem } from './find-replacement-problem.ts';

const address = '192.0.2.7';
const endpoint = 'https://192.0.2.7:6443';
const spec = (replicas: number) => ({ ...aSpec(), controlPlane: { ...aSpec().controlPlane, replicas } });
const find = (replicas: number, more: object = {}) =>
  findReplacementProblem({ machine: aMachine(0), spec: spec(replicas), address, endpoint: undefined, ...more });

describe('D39: another machine', () => {
  it('takes the place of a worker, and of one of three control planes', () => {
    expect(find(1, { machine: aMachine(0, [], 'work') })).toBeUndefined();
    expect(find(3)).toBeUndefined();
  });

  it('does not take that of the only control plane', () => {
    expect(find(1)).toMatch(/with 1 control plane would lose etcd .* set controlPlane\.replicas to 3 before it/);
  });

  it('does not take that of the one whose address is the endpoint', () => {
    const machine = aMachine(0);
    const { virtualAddress: _, ...rest } = machine.spec;
    expect(find(3, { machine: { ...machine, spec: rest }, endpoint })).toMatch(/is the endpoint of the cluster/);
    expect(find(3, { machine: { ...machine, spec: { ...rest, virtualAddress: address } }, endpoint })).toBeUndefined();
  });
});
