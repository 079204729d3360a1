import { expect, it } from 'vitest';
import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { annotations } from '../../../api/names.ts';
import type { Secret } from '../../../kube/core-types.ts';
import type { Services } from '../services.ts';
import { formatRestoreRecord, isBeingRestored, type RestoreRecord, readRestoreRecord } from './restore-record.ts';

const record: RestoreRecord = {
  ...{
    key: 'k',
    identity: 'i',
    sha256: '0'.repeat(64),
    time: '2026-11-27T00:00:00Z',
    startedAt: '2026-11-27T01:00:00Z',
    revision: 7,
  },
  ...{ wipes: { a: 'boot' }, attempts: 1, overQuorum: true, request: { machine: 'a', boot: 'b', changedAt: '1.0' } },
};
const secretWith = (text: string | undefined): Secret =>
  ({
    metadata: { name: 's', annotations: text === undefined ? {} : { [annotations.restoreProgress]: text } },
  }) as Secret;
const isOpen = (text: string | undefined): boolean => {
  const secrets = { get: () => secretWith(text) };
  const services = { stores: { secrets }, namespace: 'n' } as unknown as Services;
  return isBeingRestored(services, { namespace: 'shop', name: 'main' } as ClusterIdentity);
};

it('a record is read as it was written', () => {
  expect(readRestoreRecord(secretWith(formatRestoreRecord(record)))).toEqual(record);
});

it.each([
  ['no restore', undefined, false],
  ['a restore under way', formatRestoreRecord(record), true],
  ['one that is over', formatRestoreRecord({ ...record, completedAt: '2026-11-27T02:00:00Z' }), false],
  ['a record that nobody can read', '{', true],
  ['a record that lacks fields', '{}', true],
])('%s: everything else stops: %s', (_, text, expected) => {
  expect(isOpen(text)).toBe(expected);
});
