import { describe, expect, it } from 'vitest';
import { chooseMember, type MemberAnswer } from './choose-member.ts';

const answer = (machine: string, more: object = {}): MemberAnswer => ({
  machine,
  status: {
    memberId: machine,
    leaderId: 'b',
    learner: false,
    errors: [],
    databaseBytes: 1,
    databaseInUseBytes: 1,
    ...more,
  },
});

describe('the control plane that gives a snapshot', () => {
  it.each<[string, MemberAnswer[], string]>([
    ['a healthy one that does not lead', [answer('b'), answer('a'), answer('c')], 'a'],
    ['the leader, if it is the only healthy one', [answer('a', { errors: ['x'] }), answer('b')], 'b'],
    ['any that answers, without a quorum', [{ machine: 'a', problem: 'silent' }, answer('c', { leaderId: '0' })], 'c'],
    ['no learner', [answer('a', { learner: true }), answer('b')], 'b'],
  ])('is %s', (_, answers, machine) => {
    expect(chooseMember(answers)).toBe(machine);
  });

  it.each<[string, string[], string]>([
    ['another healthy one after the first has failed', ['a'], 'c'],
    ['the leader after these have failed', ['a', 'c'], 'b'],
    ['the first again after all have failed', ['a', 'c', 'b'], 'a'],
    ['one that is left, whatever has been removed since', ['x', 'a'], 'c'],
  ])('is %s', (_, failed, machine) => {
    expect(chooseMember([answer('a'), answer('b'), answer('c')], failed)).toBe(machine);
  });

  it('is one without a leader rather than one that has failed', () => {
    expect(chooseMember([answer('a'), answer('c', { leaderId: '0' })], ['a'])).toBe('c');
  });

  it('is missing if none answers, which says why', () => {
    expect(() => chooseMember([{ machine: 'a', problem: 'silent' }, answer('b', { learner: true })])).toThrow(
      /a: silent; b: its member does not vote yet\. Check that the nodes can be reached/,
    );
    expect(() => chooseMember([])).toThrow(/No control plane has an address/);
  });
});
