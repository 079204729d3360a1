import { expect, it } from 'vitest';
import { annotations, openmcpKeys } from '../../api/names.ts';
import { withoutRequests } from './without-requests.ts';

it.each([
  [annotations.takeBackup, 'now'],
  [annotations.rotateCa, 'talos'],
  [annotations.restore, 'talos/1/shop/prod/uid/20261101T000000Z/etcd.age'],
  [annotations.remediate, 'replace'],
  [annotations.rollout, 'now'],
  [annotations.rollout, 'retry'],
  [annotations.approve, 'EtcdHasQuorum'],
  [annotations.approve, 'AccessNotRemoved'],
  [annotations.failureDomainLost, 'true'],
  [openmcpKeys.operation, 'reconcile'],
])('%s: %s is not imported', (name, value) => {
  expect(withoutRequests({ [name]: value })).toEqual({});
});

it.each([
  [annotations.rollout, 'pause'],
  [annotations.maintenance, 'true'],
  [annotations.deleteFirst, 'true'],
  [openmcpKeys.operation, 'ignore'],
  ['team.example/note', 'first'],
])('%s: %s is imported', (name, value) => {
  expect(withoutRequests({ [name]: value })).toEqual({ [name]: value });
});
