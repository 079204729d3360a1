import { describe, expect, it } from 'vitest';
import {
  aRequestView,
  aTarget,
  aTokenSecret,
  decisionTime,
  heldRequest,
  reportOf,
  summarizeDecision,
} from '../../../../test/support/fixtures/access-request-views.ts';
import { conditionFalse } from '../../../api/conditions.ts';
import type { AccessRequestView } from '../view.ts';
import { decideGrant } from './decide-grant.ts';

const day = 24 * 3600;
const decide = (change: Partial<AccessRequestView>) =>
  decideGrant(aRequestView({ target: aTarget, ...change }), decisionTime);
const decided = (change: Partial<AccessRequestView>) => summarizeDecision(decide(change));
const ensured = { account: 'account-uid' };
const signingKeys = { ids: undefined };
const invalid = heldRequest({ token: { permissions: [{ rules: [{ verbs: [] }] }] } });
const empty = heldRequest({ token: undefined });
const granted = heldRequest({}, {}, { phase: 'Granted', secretRef: { name: 'mine.kubeconfig' } });
const unowned = aTokenSecret(day, { metadata: { name: 'mine.kubeconfig', namespace: 'team' } });

describe('the next action for a token request', () => {
  it.each<[string, Partial<AccessRequestView>, string]>([
    ['the objects come first', {}, 'ensure-objects'],
    ['then a Secret that the cache lacks is sought', { ensured }, 'seek-secret'],
    ['without a Secret a token is issued', { ensured, soughtSecret: { object: undefined } }, 'issue-token'],
    ['the signing keys are read for a present token', { ensured, secret: aTokenSecret(day) }, 'read-signing-keys'],
    [
      'a token in the first four fifths of its lifetime is left',
      { ensured, signingKeys, secret: aTokenSecret(23 * day) },
      'settled Granted 590',
    ],
    [
      'a token is renewed after four fifths of its lifetime',
      { ensured, signingKeys, secret: aTokenSecret(24 * day) },
      'issue-token',
    ],
    [
      'a token of another account is replaced',
      { ensured: { account: 'another-uid' }, signingKeys, secret: aTokenSecret(day) },
      'issue-token',
    ],
    [
      'a requested renewal reads no keys',
      { ensured, isRenewalRequested: true, secret: aTokenSecret(day) },
      'issue-token',
    ],
    [
      'an issued token ends the reconcile',
      { ensured, isRenewalRequested: true, written: { renewalDue: new Date(decisionTime.now.getTime() + 60_000) } },
      'settled Granted 60',
    ],
    ['an invalid request loses its roles', { request: invalid }, 'remove-objects'],
    [
      'an invalid request waits for its correction',
      { request: invalid, areObjectsRemoved: true },
      'settled Pending AccessReady=InvalidConfig 600',
    ],
    ['an empty request loses its objects', { request: empty }, 'remove-objects'],
    ['an empty request loses its Secret', { request: empty, areObjectsRemoved: true }, 'remove-secret'],
    [
      'an empty request waits for its correction',
      { request: empty, areObjectsRemoved: true, isSecretRemoved: true },
      'settled Pending AccessReady=InvalidConfig 600',
    ],
    ['a Secret of another owner is left', { ensured, secret: unowned }, 'settled Pending AccessReady=NotManaged 30'],
    [
      'an immutable Secret is reported before a token is issued',
      { ensured, isRenewalRequested: true, secret: aTokenSecret(day, { immutable: true }) },
      'settled Pending AccessReady=SecretNotWritable 30',
    ],
    [
      'a rejection of the cluster is reported',
      { failure: { reason: 'TargetRejected', message: 'no' } },
      'settled Pending AccessReady=TargetRejected 30',
    ],
    [
      'a cluster that does not answer is waited for',
      { failure: { reason: 'WaitingForCluster', message: 'silent' } },
      'settled Pending AccessReady=WaitingForCluster ClusterReady=WaitingForCluster 30',
    ],
    [
      'a Cluster that is not ready is waited for',
      { target: { waiting: conditionFalse('ClusterReady', 'WaitingForCluster', 'Not ready.') } },
      'settled Pending AccessReady=WaitingForCluster ClusterReady=WaitingForCluster 30',
    ],
  ])('%s', (_, change, expected) => {
    expect(decided(change)).toBe(expected);
  });

  it('needs the target cluster first', () => {
    expect(decideGrant(aRequestView(), decisionTime)).toEqual({ kind: 'find-target' });
  });

  it('removes the roles of an invalid request and all objects of an empty one', () => {
    expect(decide({ request: invalid })).toEqual({ kind: 'remove-objects', scope: 'roles' });
    expect(decide({ request: empty })).toEqual({ kind: 'remove-objects', scope: 'all' });
  });

  it('tells a first token from a renewal', () => {
    expect(decide({ ensured, soughtSecret: { object: undefined } })).toMatchObject({ isNew: true });
    expect(decide({ ensured, isRenewalRequested: true, secret: aTokenSecret(day) })).toMatchObject({ isNew: false });
  });
});

describe('the status of a token request', () => {
  const waiting = (reason: 'WaitingForCluster' | 'ClusterMissing', change: Partial<AccessRequestView>) =>
    reportOf(decide({ target: { waiting: conditionFalse('ClusterReady', reason, 'Why.') }, ...change })).status;

  it.each<[string, AccessRequestView['secret'], 'WaitingForCluster' | 'ClusterMissing', string]>([
    ['stays Granted while only the cluster is unreachable', aTokenSecret(29 * day), 'WaitingForCluster', 'Granted'],
    ['is Pending when its token has expired', aTokenSecret(31 * day), 'WaitingForCluster', 'Pending'],
    ['is Pending when its Secret is gone', undefined, 'WaitingForCluster', 'Pending'],
    ['is Pending when its Cluster does not exist', aTokenSecret(day), 'ClusterMissing', 'Pending'],
  ])('%s', (_, secret, reason, phase) => {
    expect(waiting(reason, { request: granted, secret })?.phase).toBe(phase);
  });

  it('is Pending when the spec has changed since it was granted', () => {
    const changed = heldRequest({}, { generation: 2 }, { phase: 'Granted', secretRef: { name: 'mine.kubeconfig' } });
    expect(waiting('WaitingForCluster', { request: changed, secret: aTokenSecret(day) })?.phase).toBe('Pending');
  });

  it('names the Secret as long as it exists', () => {
    const name = (change: Partial<AccessRequestView>) => waiting('WaitingForCluster', change)?.secretRef?.name;
    expect(name({ secret: aTokenSecret(day) })).toBe('mine.kubeconfig');
    expect(name({ secret: aTokenSecret(day), isSecretRemoved: true })).toBeUndefined();
    expect(name({ secret: unowned })).toBeUndefined();
    expect(name({})).toBeUndefined();
  });
});
