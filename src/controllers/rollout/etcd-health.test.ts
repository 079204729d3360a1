import { describe, expect, it } from 'vitest';
import { type EtcdReport, findEtcdLeader, findEtcdProblem } from './etcd-health.ts';

const names = ['cp-0', 'cp-1', 'cp-2'];
const member = (name: string, learner = false) => ({ id: `id-of-${name}`, name, peerUrls: [], learner });
const report = (
  machine: string,
  change: Partial<Omit<EtcdReport, 'status'>> & { status?: Partial<EtcdReport['status']> } = {},
): EtcdReport => ({
  machine,
  members: names.map((name) => member(name)),
  alarms: [],
  ...change,
  status: {
    ...{
      memberId: `id-of-${machine}`,
      leaderId: 'id-of-cp-1',
      learner: false,
      errors: [],
      databaseBytes: 1,
      databaseInUseBytes: 1,
    },
    ...change.status,
  },
});
const reports = (change: Parameters<typeof report>[1] = {}) => [report('cp-0'), report('cp-1', change), report('cp-2')];

describe('D22: the state of etcd before a change', () => {
  it('is good if every member votes, is healthy and follows the same leader', () => {
    expect(findEtcdProblem(reports(), names)).toBeUndefined();
    expect(findEtcdLeader(reports())).toBe('cp-1');
  });

  it.each<[string, Parameters<typeof report>[1], RegExp]>([
    ['an alarm', { alarms: ['NOSPACE of 01'] }, /^cp-1: etcd has the alarm NOSPACE of 01\.$/],
    ['an error of a member', { status: { errors: ['corrupt'] } }, /^cp-1: its etcd member is not healthy\.$/],
    ['no leader', { status: { leaderId: '0000000000000000' } }, /not healthy/],
    ['a learner', { members: [...names.map((name) => member(name)), member('cp-3', true)] }, /cp-3 does not vote yet/],
    ['a member that learns itself', { status: { learner: true } }, /does not vote yet/],
    ['a foreign member', { members: [...names, 'old'].map((name) => member(name)) }, /has the member old/],
    ['a missing member', { members: [member('cp-0'), member('cp-1')] }, /2 voting members of 3/],
    ['two leaders', { status: { leaderId: 'id-of-cp-2' } }, /do not agree on a leader/],
  ])('is not good with %s', (_, change, message) => {
    expect(findEtcdProblem(reports(change), names)).toMatch(message);
  });

  it('does not need the report of a control plane that is to be changed because it is not well', () => {
    expect(findEtcdProblem([report('cp-0'), report('cp-2')], names)).toBeUndefined();
    expect(findEtcdLeader([report('cp-0'), report('cp-2')])).toBeUndefined();
  });
});
