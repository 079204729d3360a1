import { expect, it } from 'vitest';
import type { Machine } from '../api/machine.ts';
import { StepHistory } from './step-history.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 21, 9, 0, seconds)).toISOString();

function machineIn(step: string, since: number, more: { failures?: number; finished?: number; uid?: string } = {}) {
  const { failures = 0, finished, uid = 'a' } = more;
  const progress = {
    plan: 'provision',
    step,
    since: at(since),
    failures,
    facts: {},
    ...(finished === undefined ? {} : { finishedAt: at(finished) }),
  };
  return {
    metadata: { name: `shop-${uid}`, uid },
    spec: { platform: 'truenas' },
    status: { progress },
  } as unknown as Machine;
}

function walk(history: StepHistory, ...states: readonly Machine[]): void {
  states.forEach((object, i) => {
    const before = states[i - 1];
    history.observe(before ? { kind: 'updated', object, before } : { kind: 'added', object });
  });
}

it('records start, end and tries of each step', () => {
  const history = new StepHistory();
  const last = machineIn('', 40, { finished: 55 });
  walk(
    history,
    machineIn('disk-created', 0),
    machineIn('disk-created', 0, { failures: 1 }),
    machineIn('disk-created', 0, { failures: 0 }),
    machineIn('disk-created', 0, { failures: 2 }),
    machineIn('vm-created', 40),
    last,
  );
  expect(history.of(last)).toEqual([
    { plan: 'provision', step: 'disk-created', startedAt: at(0), endedAt: at(40), tries: 4 },
    { plan: 'provision', step: 'vm-created', startedAt: at(40), endedAt: at(55), tries: 1 },
  ]);
});

it('knows only the current step of a machine that it sees for the first time', () => {
  const history = new StepHistory();
  const machine = machineIn('vm-created', 7, { failures: 2 });
  walk(history, machine);
  expect(history.of(machine)).toEqual([{ plan: 'provision', step: 'vm-created', startedAt: at(7), tries: 3 }]);
});

it('a machine that goes back to a step has two records of it', () => {
  const history = new StepHistory();
  const last = machineIn('disk-created', 20);
  walk(history, machineIn('disk-created', 0), machineIn('vm-created', 10), last);
  expect(history.of(last).map(({ step, endedAt }) => [step, endedAt])).toEqual([
    ['disk-created', at(10)],
    ['vm-created', at(20)],
    ['disk-created', undefined],
  ]);
});

it('the usual duration is the median of the other machines', () => {
  const history = new StepHistory();
  const took = (uid: string, seconds: number): void =>
    walk(history, machineIn('vm-created', 0, { uid }), machineIn('powered-on', seconds, { uid }));
  for (const [uid, seconds] of [
    ['a', 500],
    ['b', 10],
    ['c', 30],
    ['d', 20],
  ] as const)
    took(uid, seconds);
  expect(history.usualSeconds(machineIn('vm-created', 0, { uid: 'a' }), 'provision', 'vm-created')).toBe(20);
  expect(history.usualSeconds(machineIn('vm-created', 0, { uid: 'b' }), 'provision', 'vm-created')).toBe(30);
  expect(history.usualSeconds(machineIn('vm-created', 0), 'repair', 'vm-created')).toBeUndefined();
});

it('forgets the records of a deleted machine, but not how long its steps took', () => {
  const history = new StepHistory();
  const last = machineIn('powered-on', 12);
  walk(history, machineIn('vm-created', 0), last);
  history.observe({ kind: 'deleted', object: last, before: last });
  expect(history.of(last)).toEqual([]);
  expect(history.usualSeconds(machineIn('vm-created', 0, { uid: 'z' }), 'provision', 'vm-created')).toBe(12);
});

it('keeps a bounded number of records', () => {
  const history = new StepHistory();
  const states = Array.from({ length: 200 }, (_, i) => machineIn(`step-${i}`, i));
  walk(history, ...states);
  const records = history.of(states[0] as Machine);
  expect(records).toHaveLength(64);
  expect(records.at(-1)?.step).toBe('step-199');
});
