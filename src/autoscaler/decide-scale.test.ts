import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { aScalablePool, aWorker, naming } from '../../test/support/fixtures/scalable-pools.ts';
import type { Machine } from '../api/machine.ts';
import { decideDecrease, decideDeletion, decideIncrease } from './decide-scale.ts';

const [first, second, third] = [aWorker(0), aWorker(1), aWorker(2)];
const pool = aScalablePool([first, second, third]);
const nodeOf = ({ metadata, spec }: Machine) => ({ name: metadata.name, providerId: `truenas://nas/${spec.slot}` });
const entryOf = ({ metadata: { uid, name } }: Machine) => ({ uid, name });
const going = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: '2026-11-21T10:00:00Z' },
});
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return Code[ConnectError.from(error).code];
  }
};

describe('an increase', () => {
  const capacity = { more: 2, reason: 'No more.' };
  it('adds to the nodes that were requested before', () => {
    expect(decideIncrease(pool, capacity, 2)).toEqual({ replicas: 5 });
  });
  it('beyond what there is is refused as a whole, with the reason', () => {
    expect(() => decideIncrease(pool, capacity, 3)).toThrow(
      /NodePool prod-\w+-work can have 2 more nodes, not 3: No more\.$/,
    );
    expect(codeOf(() => decideIncrease(pool, capacity, 3))).toBe('ResourceExhausted');
    expect(codeOf(() => decideIncrease(pool, capacity, -1))).toBe('InvalidArgument');
  });
});

describe('a decrease', () => {
  it('takes back only what has no Machine', () => {
    const open = { ...pool, target: 5 };
    expect(decideDecrease(open, -2)).toEqual({ replicas: 3 });
    expect(codeOf(() => decideDecrease(open, -3))).toBe('FailedPrecondition');
    expect(codeOf(() => decideDecrease(open, 1))).toBe('InvalidArgument');
  });
  it('does not count Machines that go anyway, and ends at the smallest size', () => {
    const leaving = naming({ ...pool, machines: [first, second, going(third)], target: 3 }, second);
    expect(decideDecrease(leaving, -2)).toEqual({ replicas: 1 });
    expect(codeOf(() => decideDecrease(leaving, -3))).toBe('FailedPrecondition');
  });
});

describe('D58: a deletion', () => {
  it('names the Machines and lowers the number by them', () => {
    expect(decideDeletion(pool, [nodeOf(first), nodeOf(third)])).toEqual({
      replicas: 1,
      machinesToDelete: [entryOf(first), entryOf(third)],
    });
  });
  it('that names a Machine twice lowers the number once', () => {
    expect(decideDeletion(pool, [nodeOf(first), nodeOf(first)])?.replicas).toBe(2);
  });
  it('that was asked for before changes nothing, while the Machine goes and after it', () => {
    const asked = naming({ ...pool, target: 2 }, first);
    for (const machines of [
      [first, second, third],
      [going(first), second, third],
      [second, third],
    ])
      expect(decideDeletion({ ...asked, machines }, [nodeOf(first)])).toBeUndefined();
  });
  it('keeps earlier entries, and drops those of Machines that no longer exist', () => {
    const asked = naming({ ...pool, machines: [second, third], target: 2 }, first, second);
    expect(decideDeletion(asked, [nodeOf(third)])).toEqual({
      replicas: 1,
      machinesToDelete: [entryOf(second), entryOf(third)],
    });
  });
  it('of a Machine that a user has deleted keeps it from being made again', () => {
    const machines = [going(first), second, third];
    expect(decideDeletion({ ...pool, machines }, [nodeOf(first)])?.replicas).toBe(2);
  });
  it('of a Node that was invented for a Machine without provider id', () => {
    const early = aWorker(3, { providerId: 0 });
    const id = `machine://${early.metadata.name}`;
    const change = decideDeletion(aScalablePool([first, early]), [{ name: id, providerId: id }]);
    expect(change?.machinesToDelete).toEqual([entryOf(early)]);
  });
  it('below the smallest size, or of any foreign Node, deletes nothing at all', () => {
    const all = [first, second, third].map(nodeOf);
    expect(codeOf(() => decideDeletion(pool, all))).toBe('FailedPrecondition');
    const foreign = { name: first.metadata.name, providerId: 'kind://x' };
    expect(codeOf(() => decideDeletion(pool, [nodeOf(second), foreign]))).toBe('InvalidArgument');
  });
});
