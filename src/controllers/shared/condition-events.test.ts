import { expect, it } from 'vitest';
import type { Condition, ConditionType } from '../../api/conditions.ts';
import { decideConditionEvents } from './condition-events.ts';

const condition = (type: ConditionType, status: Condition['status'], reason = 'AsExpected'): Condition => ({
  ...{ type, status, reason, message: `About ${reason}.`, lastTransitionTime: '2026-11-21T09:00:00Z' },
});
const isTrue = (type: ConditionType) => condition(type, 'True');
const isFalse = (type: ConditionType, reason: string) => condition(type, 'False', reason);

/** The Events of one condition that changes. */
const changed = (was: Condition | undefined, is: Condition | undefined): string[] =>
  decideConditionEvents([(is ?? was)?.type as ConditionType], was && [was], is && [is]).map(
    ({ type, reason, message }) => `${type} ${reason}: ${message}`,
  );

it.each<[string, Condition | undefined, Condition | undefined, string[]]>([
  [
    'a cluster that does not answer any more, whatever the reason',
    isTrue('Ready'),
    isFalse('Ready', 'WaitingForEndpoint'),
    ['Warning WaitingForEndpoint: About WaitingForEndpoint.'],
  ],
  [
    'a cluster of which nothing is known any more',
    isTrue('Ready'),
    condition('Ready', 'Unknown', 'PlatformUnreachable'),
    ['Warning PlatformUnreachable: About PlatformUnreachable.'],
  ],
  [
    'a cluster that answers again',
    isFalse('Ready', 'WaitingForEndpoint'),
    isTrue('Ready'),
    ['Normal Ready: It is true now, after WaitingForEndpoint.'],
  ],
  ['the first time that something is true', undefined, isTrue('UpToDate'), []],
  ['what was unknown for a moment', condition('UpToDate', 'Unknown', 'NodeNotObserved'), isTrue('UpToDate'), []],
  ['the progress of a creation', isFalse('Ready', 'WaitingForSecrets'), isFalse('Ready', 'WaitingForMachines'), []],
  [
    'a creation that needs a user',
    isFalse('Ready', 'WaitingForMachines'),
    isFalse('Ready', 'AddressPoolExhausted'),
    ['Warning AddressPoolExhausted: About AddressPoolExhausted.'],
  ],
  [
    'a fault from the start',
    undefined,
    isFalse('Ready', 'VersionNotOffered'),
    ['Warning VersionNotOffered: About VersionNotOffered.'],
  ],
  [
    'a change that is planned',
    isTrue('UpToDate'),
    isFalse('UpToDate', 'UpdatePending'),
    ['Normal UpdatePending: About UpdatePending.'],
  ],
  ['its progress', isFalse('UpToDate', 'UpdatePending'), isFalse('UpToDate', 'Updating'), []],
  [
    'its failure',
    isFalse('UpToDate', 'Updating'),
    isFalse('UpToDate', 'UpdateFailed'),
    ['Warning UpdateFailed: About UpdateFailed.'],
  ],
  [
    'its end',
    isFalse('UpToDate', 'Updating'),
    isTrue('UpToDate'),
    ['Normal UpToDate: It is true now, after Updating.'],
  ],
  [
    'the same fault with another message',
    isFalse('BackedUp', 'BackupFailed'),
    { ...isFalse('BackedUp', 'BackupFailed'), message: 'x' },
    [],
  ],
  ['a condition that is not reported any more', isFalse('BackedUp', 'BackupFailed'), undefined, []],
])('%s', (_, was, is, expected) => {
  expect(changed(was, is)).toEqual(expected);
});

it('conditions that are not asked for are no Events', () => {
  expect(decideConditionEvents(['Ready'], [isTrue('UpToDate')], [isFalse('UpToDate', 'UpdateFailed')])).toEqual([]);
});
