import { describe, expect, it } from 'vitest';
import type { EtcdMember } from '../../../talos/client/etcd-calls.ts';
import type { EtcdReport } from '../../rollout/etcd-health.ts';
import { findOrphanMember, type MembersView } from './find-orphan-member.ts';

const member = (name: string, more: Partial<EtcdMember> = {}): EtcdMember => ({
  ...{ id: `id-${name}`, name, peerUrls: [`https://10.0.0.${name.length}:2380`], learner: false },
  ...more,
});
const orphan = member('orphan');
const report = (machine: string, members: readonly EtcdMember[], more: Partial<EtcdReport> = {}): EtcdReport =>
  ({
    ...{ machine, members, alarms: [] },
    status: { memberId: `id-${machine}`, leaderId: 'id-a', errors: [], learner: false },
    ...more,
  }) as EtcdReport;

const planes = ['a', 'bb', 'ccc'];
/** Three healthy control planes that all report the members. */
const view = (members: readonly EtcdMember[], more: Partial<MembersView> = {}): MembersView => ({
  reports: planes.map((name) => report(name, members)),
  controlPlanes: planes,
  machines: [...planes, 'work'],
  addresses: ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
  isMachineName: (name) => name !== 'box',
  ...more,
});
const own = planes.map((name) => member(name));
const all = [...own, orphan];
const changed = (name: string, more: Partial<EtcdReport>) =>
  planes.map((one) => (one === name ? report(one, all, more) : report(one, all)));

it('D36: the member that belongs to no Machine is found, and none where all belong to one', () => {
  expect(findOrphanMember(view(all))).toEqual({ kind: 'found', member: orphan, reporter: 'a' });
  expect(findOrphanMember(view(own))).toEqual({ kind: 'none' });
});

it('D36: one of several is found, and the next when it is gone', () => {
  const second = member('second');
  expect(findOrphanMember(view([...all, second]))).toMatchObject({ kind: 'found', member: orphan });
});

describe('D36: nothing can be told', () => {
  const status = (more: object) => ({ status: { ...report('bb', all).status, ...more } }) as Partial<EtcdReport>;
  it.each<[string, MembersView, RegExp]>([
    ['while a control plane is silent', view(all, { reports: view(all).reports.slice(1) }), /a does not answer/],
    ['without a control plane', view([], { reports: [], controlPlanes: [] }), /no control plane answers/],
    [
      'while the members report different lists',
      view(all, { reports: [...view(own).reports.slice(0, 2), report('ccc', all)] }),
      /different members/,
    ],
    [
      'of as many orphans as there are control planes',
      view([...all, member('two-a'), member('three-b')]),
      /too many to lose/,
    ],
    ['of a member without a name, which has been announced', view([...own, member('')]), /is joining/],
    ['of a learner', view([...own, member('orphan', { learner: true })]), /orphan is joining/],
    ['of a member that has the name of a Machine', view([...own, member('work')]), /has the name of a Machine/],
    [
      'of a member that has the address of a Machine',
      view([...own, member('orphan', { peerUrls: ['https://10.0.0.3:2380'] })]),
      /has the address 10.0.0.3 of a Machine/,
    ],
    [
      'of a member with a second address, if one is that of a Machine',
      view([...own, member('orphan', { peerUrls: ['x', 'https://10.0.0.1:2380'] })]),
      /10.0.0.1/,
    ],
    ['of the control plane that a user has added', view([...own, member('box')]), /is not of this provider/],
    ['while etcd has an alarm', view(all, { reports: changed('bb', { alarms: ['NOSPACE'] }) }), /alarm NOSPACE/],
    ['while a member has no leader', view(all, { reports: changed('bb', status({ leaderId: '0' })) }), /not healthy/],
    ['while a member has errors', view(all, { reports: changed('bb', status({ errors: ['x'] })) }), /not healthy/],
    ['while the leader is disputed', view(all, { reports: changed('bb', status({ leaderId: 'id-bb' })) }), /agree/],
    ['while a control plane does not vote', view(all, { reports: changed('bb', status({ learner: true })) }), /vote/],
  ])('%s', (_, given, message) => {
    expect(findOrphanMember(given)).toEqual({ kind: 'unknown', message: expect.stringMatching(message) });
  });
});
