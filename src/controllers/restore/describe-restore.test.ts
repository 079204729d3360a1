import { expect, it } from 'vitest';
import type { EtcdCondition } from './decide-restore.ts';
import { describePlannedRestore } from './describe-restore.ts';

const plan = { key: 'p/etcd.age', time: new Date('2026-11-27T01:02:03Z'), controlPlanes: ['a', 'b'] };

it.each<[EtcdCondition, string, RegExp]>([
  [
    { kind: 'lost' },
    'RestoreNotApproved',
    /^Etcd has lost its quorum\. .*approve: RestoreNotApproved on the Cluster\.$/,
  ],
  [
    { kind: 'quorum', machine: 'a' },
    'EtcdHasQuorum',
    /^ETCD WORKS: a follows .*approve: EtcdHasQuorum on the Cluster\.$/,
  ],
  [{ kind: 'unknown', message: 'a is booting.' }, 'RestoreWaiting', /cannot be told\. a is booting\./],
])('a restore with etcd %j is described', (etcd, reason, message) => {
  const state = describePlannedRestore({ ...plan, etcd });
  expect(state).toMatchObject({ type: 'EtcdRestored', status: 'False', reason });
  expect(state.message).toMatch(message);
  for (const part of ['p/etcd.age', '2026-11-27T01:02:03Z', '/var of a, b', 'Other volumes are no part of it'])
    expect(state.message).toContain(part);
  expect(state.message?.includes('approve:')).toBe(etcd.kind !== 'unknown');
});
