import { describe, expect, it } from 'vitest';
import {
  aRequestView,
  decisionTime,
  heldRequest,
  summarizeDecision,
} from '../../../test/support/fixtures/access-request-views.ts';
import { openmcpKeys } from '../../api/names.ts';
import { decideAccessRequest } from './decide.ts';
import type { AccessRequestView } from './view.ts';

const deletionTimestamp = '2026-11-23T09:00:00Z';
const asked = (operation: string, more: object = {}) =>
  heldRequest({}, { annotations: { [openmcpKeys.operation]: operation }, ...more });
const decided = (change: Partial<AccessRequestView>) =>
  summarizeDecision(decideAccessRequest(aRequestView(change), decisionTime));

describe('the first decision about an AccessRequest', () => {
  it.each<[string, Partial<AccessRequestView>, string]>([
    [
      'nothing is granted before the finalizer is set',
      { request: heldRequest({}, { finalizers: [] }) },
      'add-finalizer',
    ],
    ['a request with the finalizer is granted', {}, 'find-target'],
    ['the operation `ignore` excludes it', { request: asked('ignore') }, 'settled'],
    ['the operation `reconcile` is consumed', { request: asked('reconcile') }, 'consume-operation'],
    [
      'an operation that is consumed is not consumed again',
      { request: asked('reconcile'), isRenewalRequested: true },
      'find-target',
    ],
    ['a deleted request is revoked', { request: heldRequest({}, { deletionTimestamp }) }, 'revoke-secret'],
    [
      'a deleted request without the finalizer was never granted',
      { request: heldRequest({}, { deletionTimestamp, finalizers: ['others.example.org/x'] }) },
      'settled',
    ],
    ['`ignore` also holds for a deleted request', { request: asked('ignore', { deletionTimestamp }) }, 'settled'],
  ])('%s', (_, change, expected) => {
    expect(decided(change)).toBe(expected);
  });

  it.each<[string, Partial<AccessRequestView>, string]>([
    [
      'another instance has the Cluster: only the finalizer is removed',
      { responsibility: 'other-instance' },
      'remove-finalizer',
    ],
    [
      'another instance has the Cluster, and there is no finalizer',
      { responsibility: 'other-instance', request: heldRequest({}, { finalizers: [] }) },
      'settled',
    ],
    ['a request that is no longer ours is revoked', { responsibility: 'formerly-own' }, 'revoke-secret'],
    [
      'a request that is no longer ours, with `ignore`',
      { responsibility: 'formerly-own', request: asked('ignore') },
      'settled',
    ],
    ['a request of another provider is left alone', { responsibility: 'none' }, 'settled'],
  ])('%s', (_, change, expected) => {
    expect(decided(change)).toBe(expected);
  });
});
