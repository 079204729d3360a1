import { describe, expect, it } from 'vitest';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';
import { assessEtcd, decideRestore } from './decide-restore.ts';
import type { ControlPlaneReport, ControlPlaneState } from './observe-control-planes.ts';

const service = (state: string, changedAt = '1.0') => ({ id: 'etcd', state, healthy: true, message: '', changedAt });

/** A node that runs a member without a leader, in its first boot. */
const node = (name: string, change: Partial<ControlPlaneReport> = {}): ControlPlaneState => ({
  name,
  isDeleted: false,
  report: {
    ...{ boot: `${name}-1`, stage: 'running', service: service('Running'), hasData: true },
    member: { hasLeader: false, learner: false, members: [] },
    ...change,
  },
});
const silent = (name: string): ControlPlaneState => ({ name, isDeleted: false, report: { silent: 'no route' } });
/** Booted again without data, and waits. */
const empty = (name: string, change: Partial<ControlPlaneReport> = {}): ControlPlaneState =>
  node(name, { boot: `${name}-2`, service: service('Preparing'), hasData: false, member: undefined, ...change });
const member = (name: string, members: string[], learner = false): ControlPlaneState =>
  node(name, { boot: `${name}-2`, member: { hasLeader: true, learner, members } });

const record: RestoreRecord = {
  ...{
    key: 'k',
    identity: 'i',
    sha256: '0'.repeat(64),
    time: '2026-11-27T00:00:00Z',
    startedAt: '2026-11-27T01:00:00Z',
  },
  ...{ wipes: {}, attempts: 0, overQuorum: false },
};
const wiped = { ...record, wipes: { a: 'a-1', b: 'b-1', c: 'c-1' } };
const asked = { ...wiped, attempts: 1, request: { machine: 'a', boot: 'a-2', changedAt: '1.0' } };

describe('before a restore, etcd', () => {
  it.each<[string, ControlPlaneState[], object]>([
    [
      'has lost its quorum if every control plane answers and none has a leader',
      [node('a'), empty('b')],
      { kind: 'lost' },
    ],
    ['works if a member has a leader', [node('a'), member('b', ['b'])], { kind: 'quorum', machine: 'b' }],
    ['is unknown without control planes', [], { kind: 'unknown' }],
    [
      'is unknown while one does not answer, which may come back with its data',
      [node('a'), silent('b')],
      { kind: 'unknown', message: expect.stringMatching(/b does not answer: no route\. .*delete its Machine/) },
    ],
    [
      'is unknown while one is being deleted',
      [node('a'), { ...node('b'), isDeleted: true }],
      { kind: 'unknown', message: 'b is being deleted.' },
    ],
    [
      'is unknown while one boots',
      [node('a'), node('b', { service: undefined })],
      { kind: 'unknown', message: 'b is booting.' },
    ],
    [
      'is unknown if one node answers for two Machines',
      [node('a'), node('b', { boot: 'a-1' })],
      { kind: 'unknown', message: 'a and b have one address. Correct that.' },
    ],
  ])('%s', (_, states, expected) => {
    expect(assessEtcd(states)).toMatchObject(expected);
  });
});

describe('a restore', () => {
  it.each<[string, RestoreRecord, ControlPlaneState[], object]>([
    ['waits while one does not answer', record, [node('a'), silent('b')], { kind: 'wait' }],
    [
      'wipes all at the same time',
      record,
      [node('a'), empty('b'), node('c')],
      { kind: 'wipe', boots: { a: 'a-1', b: 'b-2', c: 'c-1' } },
    ],
    [
      'is cancelled when etcd works again before anything was wiped',
      record,
      [node('a'), member('b', ['b'])],
      { kind: 'cancel' },
    ],
    ['is not cancelled if that was approved', { ...record, overQuorum: true }, [member('b', ['b'])], { kind: 'wipe' }],
    [
      'calls again in the same boot, and not while the reset is at work',
      wiped,
      [node('a'), node('b', { stage: 'resetting' }), empty('c')],
      { kind: 'wipe', boots: { a: 'a-1' } },
    ],
    [
      'wipes one again that has booted and joined what was left',
      wiped,
      [member('a', ['a', 'b']), silent('b'), empty('c')],
      { kind: 'wipe', boots: { a: 'a-2' } },
    ],
    [
      'wipes one again that has data although its etcd still prepares',
      wiped,
      [empty('a', { hasData: true }), empty('b'), empty('c')],
      { kind: 'wipe', boots: { a: 'a-2' } },
    ],
    [
      'does not touch a node without the service of control planes',
      record,
      [node('a'), node('b', { service: undefined })],
      { kind: 'wipe', boots: { a: 'a-1' } },
    ],
    ['waits until all are back', wiped, [empty('a'), empty('b'), silent('c')], { kind: 'wait' }],
    [
      'waits until etcd prepares on all',
      wiped,
      [empty('a'), empty('b', { service: service('Waiting') }), empty('c')],
      { kind: 'wait', message: expect.stringContaining('b: its service etcd is in state Waiting') },
    ],
    [
      'recovers on the first when all are empty',
      wiped,
      [empty('a'), empty('b'), empty('c')],
      { kind: 'recover', machine: 'a' },
    ],
    ['waits while two Machines have one address', wiped, [empty('a'), empty('b', { boot: 'a-2' })], { kind: 'wait' }],
  ])('%s', (_, known, states, expected) => {
    expect(decideRestore(known, states)).toMatchObject(expected);
  });

  it.each<[string, RestoreRecord, ControlPlaneState[], object]>([
    [
      'repeats a call that has not reached the service',
      asked,
      [empty('a'), empty('b')],
      { kind: 'recover', machine: 'a' },
    ],
    [
      'repeats a call that a reboot has lost',
      asked,
      [empty('a', { boot: 'a-3', service: service('Preparing', '9.0') }), empty('b')],
      { kind: 'recover', machine: 'a' },
    ],
    [
      'waits for a service that has changed since the call',
      asked,
      [empty('a', { service: service('Preparing', '2.0') }), empty('b')],
      { kind: 'wait' },
    ],
    ['waits while etcd starts', asked, [empty('a', { service: service('Starting'), hasData: true })], { kind: 'wait' }],
    ['waits while the node does not answer', asked, [silent('a'), empty('b')], { kind: 'wait' }],
    [
      'tries a failed one again',
      asked,
      [empty('a', { service: service('Failed') })],
      { kind: 'recover', machine: 'a' },
    ],
    [
      'wipes a failed one with data again',
      asked,
      [empty('a', { service: service('Failed'), hasData: true })],
      { kind: 'begin-again' },
    ],
    [
      'gives up after three attempts',
      { ...asked, attempts: 3 },
      [empty('a', { service: service('Failed') })],
      { kind: 'fail', message: expect.stringMatching(/a could not restore k: .* Name another backup/) },
    ],
    ['begins again if the node is gone', asked, [empty('b')], { kind: 'begin-again' }],
    [
      'is proven by the member, and names who has not joined',
      asked,
      [member('a', ['a', 'c']), empty('b'), member('c', [], true)],
      { kind: 'prove', machine: 'a', missing: ['b', 'c'] },
    ],
    [
      'is proven by another member if the node is gone later',
      asked,
      [member('b', ['b', 'c']), member('c', ['b', 'c'])],
      { kind: 'prove', machine: 'b', missing: [] },
    ],
  ])('%s', (_, known, states, expected) => {
    expect(decideRestore(known, states)).toMatchObject(expected);
  });
});
