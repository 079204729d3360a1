import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { MembershipSchedule } from './membership-schedule.ts';

const machines = [0, 1, 2].map((slot) => aMachine(slot));

function afterLook(explained: boolean) {
  const clock = new ManualClock();
  const schedule = new MembershipSchedule(clock, 'uid');
  schedule.begin();
  if (explained) schedule.explain(machines);
  return { clock, schedule };
}

describe('D36: the members of etcd are looked at', () => {
  it('one to two hours after the start of the process, each cluster at another time', () => {
    const secondsOf = (uid: string) => new MembershipSchedule(new ManualClock(), uid).secondsUntilLook(machines, false);
    const first = ['a', 'b', 'c', 'd'].map(secondsOf);
    expect(new Set(first).size).toBe(first.length);
    expect(first.every((seconds) => seconds >= 3600 && seconds < 7200)).toBe(true);
    expect(secondsOf('a')).toBe(first[0]);
  });

  it('at the start of the process where a change is held up, or when a control plane changes then', () => {
    const schedule = new MembershipSchedule(new ManualClock(), 'uid');
    expect(schedule.secondsUntilLook(machines, true)).toBe(0);
    expect(schedule.secondsUntilLook(machines, false)).toBeGreaterThan(0);
    expect(schedule.secondsUntilLook(machines.slice(1), false)).toBe(0);
  });

  it('every six hours at rest', async () => {
    const { clock, schedule } = afterLook(true);
    await clock.advance(6 * 3600_000 - 1);
    expect(schedule.secondsUntilLook(machines, false)).toBeGreaterThan(0);
    await clock.advance(1);
    expect(schedule.secondsUntilLook(machines, false)).toBe(0);
  });

  it('after a control plane was added, deleted or replaced by one of its name', async () => {
    const { clock, schedule } = afterLook(true);
    await clock.advance(20_000);
    expect(schedule.secondsUntilLook(machines.slice(1), false)).toBe(0);
    expect(schedule.secondsUntilLook([...machines, aMachine(3)], false)).toBe(0);
    const [first, ...rest] = machines;
    const successor = {
      ...aMachine(0),
      metadata: { ...first?.metadata, name: first?.metadata.name ?? '', uid: 'new' },
    };
    expect(schedule.secondsUntilLook([successor, ...rest], false)).toBe(0);
    expect(schedule.secondsUntilLook([...machines].reverse(), false)).toBeGreaterThan(0);
  });

  it('each minute while a change of the cluster is held up', async () => {
    const { clock, schedule } = afterLook(true);
    await clock.advance(59_999);
    expect(schedule.secondsUntilLook(machines, true)).toBeGreaterThan(0);
    await clock.advance(1);
    expect(schedule.secondsUntilLook(machines, true)).toBe(0);
  });

  it('every twenty seconds while a member is not explained', async () => {
    const { clock, schedule } = afterLook(false);
    await clock.advance(19_999);
    expect(schedule.secondsUntilLook(machines, false)).toBeGreaterThan(0);
    await clock.advance(1);
    expect(schedule.secondsUntilLook(machines, false)).toBe(0);
  });
});
