import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { EtcdMember } from '../../../talos/client/etcd-calls.ts';
import type { EtcdReport } from '../../rollout/etcd-health.ts';
import { areMembersKnown, findOrphanMembers } from './find-orphan-members.ts';

const machines = [0, 1, 2].map((slot) => aMachine(slot));
const [first, second, third] = machines.map(({ metadata }) => metadata.name) as [string, string, string];
const member = (name: string, more: Partial<EtcdMember> = {}): EtcdMember => ({
  ...{ id: `id-of-${name}`, name, peerUrls: [`https://${name}.example.org:2380`], learner: false },
  ...more,
});
const old = member('old', { peerUrls: ['https://192.168.10.99:2380'] });
type Change = Partial<Omit<EtcdReport, 'status'>> & { status?: Partial<EtcdReport['status']> };
const report = (machine: string, members: readonly EtcdMember[], change: Change = {}): EtcdReport => ({
  ...{ machine, members, alarms: [] },
  ...change,
  status: {
    ...{
      memberId: `id-of-${machine}`,
      leaderId: `id-of-${second}`,
      learner: false,
      errors: [],
      databaseBytes: 1,
      databaseInUseBytes: 1,
    },
    ...change.status,
  },
});
/** Three control planes that list the given members beside their own; the second one reports a change. */
const reports = (others: readonly EtcdMember[] = [], change: Change = {}): EtcdReport[] => {
  const members = [...[first, second, third].map((name) => member(name)), ...others];
  return [report(first, members), report(second, members, change), report(third, members)];
};
const problemOf = (found: ReturnType<typeof findOrphanMembers>) => ('problem' in found ? found.problem : undefined);

describe('D36: a member of etcd', () => {
  it('is an orphan if no control plane reports it as its own and no Machine has its name or address', () => {
    expect(findOrphanMembers(reports([old]), machines)).toEqual({ orphans: [old] });
    expect(findOrphanMembers(reports(), machines)).toEqual({ orphans: [] });
  });

  it('is an orphan also where the members that stay have just a quorum', () => {
    const two = [member(first), old];
    expect(findOrphanMembers([report(first, two)], machines)).toEqual({ orphans: [old] });
  });

  it('is the same one in lists of another order', () => {
    const [one, ...rest] = reports([old]);
    const turned = { ...one, members: [...(one?.members ?? [])].reverse() } as EtcdReport;
    expect(findOrphanMembers([turned, ...rest], machines)).toEqual({ orphans: [old] });
  });

  it.each<[string, Change, RegExp]>([
    ['there is an alarm', { alarms: ['NOSPACE of 01'] }, /has the alarm NOSPACE of 01/],
    ['another member has an error', { status: { errors: ['corrupt'] } }, /not healthy/],
    ['another member has no leader', { status: { leaderId: '0000000000000000' } }, /not healthy/],
    ['another member does not vote yet', { status: { learner: true } }, /not healthy/],
    ['there are two leaders', { status: { leaderId: 'id-of-x' } }, /do not agree on a leader/],
    ['the lists differ', { members: [first, second, third].map((name) => member(name)) }, /list different members/],
    ['two control planes report one member', { status: { memberId: `id-of-${first}` } }, /report the same member/],
    ['a control plane is no member', { status: { memberId: 'other' } }, /is not a member of etcd/],
  ])('is uncertain if %s', (_, change, problem) => {
    expect(problemOf(findOrphanMembers(reports([old], change), machines))).toMatch(problem);
  });

  it.each<[string, EtcdMember, RegExp]>([
    ['is a learner', member('new', { learner: true }), /new may be joining/],
    ['has not started', { ...old, name: '' }, /id-of-old may be joining/],
    ['has the name of a Machine', { ...old, name: first }, /may belong to a Machine/],
    ['has the address of a Machine', { ...old, peerUrls: ['https://192.168.10.21:2380'] }, /may belong to a Machine/],
  ])('is uncertain if it %s', (_, one, problem) => {
    expect(problemOf(findOrphanMembers(reports([one]), machines))).toMatch(problem);
  });

  it('is uncertain if its IPv6 address is the private one of a Machine that is in deletion', () => {
    const machine = aMachine(3);
    machine.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    Object.assign(machine.status?.progress?.facts ?? {}, { privateAddress: 'fd00::7' });
    const one = { ...old, peerUrls: ['https://[fd00::7]:2380'] };
    expect(problemOf(findOrphanMembers(reports([one]), [...machines, machine]))).toMatch(/may belong to a Machine/);
  });

  it('is uncertain if the other members would have no quorum, or no control plane answers', () => {
    const three = [member(first), old, member('older')];
    expect(problemOf(findOrphanMembers([report(first, three)], machines))).toMatch(/1 of 3 members .* 2 are required/);
    expect(problemOf(findOrphanMembers([], machines))).toBe('No control plane answers.');
  });
});

describe('D36: one list of members', () => {
  const list = (...names: string[]) => names.map((name) => member(name));
  it.each<[string, readonly EtcdMember[], boolean]>([
    ['needs no further look if each member is a control plane', list(first, second, third), true],
    ['needs none while a control plane has not joined', list(first, second), true],
    ['needs one for another name', list(first, second, third, 'old'), false],
    ['needs one for two members of one name', list(first, second, second), false],
    ['needs one for a member without a name', list(first, second, ''), false],
  ])('%s', (_, members, isKnown) => {
    expect(areMembersKnown(members, machines)).toBe(isKnown);
  });
});
