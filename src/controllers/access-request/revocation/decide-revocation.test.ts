import { describe, expect, it } from 'vitest';
import {
  accessFinalizer,
  aRequestView,
  aTarget,
  decisionTime,
  heldRequest,
  reportOf,
  summarizeDecision,
} from '../../../../test/support/fixtures/access-request-views.ts';
import { conditionFalse } from '../../../api/conditions.ts';
import type { AccessRequestView } from '../view.ts';
import { decideRevocation } from './decide-revocation.ts';

const deletionTimestamp = '2026-11-23T09:00:00Z';
const request = heldRequest({}, { deletionTimestamp });
const secretRef = { name: 'mine.kubeconfig' };
const heldByOthers = (phase = 'Granted') =>
  heldRequest({}, { deletionTimestamp, finalizers: [accessFinalizer, 'others.example.org/x'] }, { phase, secretRef });
const waiting = { waiting: conditionFalse('ClusterReady', 'WaitingForCluster', 'Silent.') };
const trust = (leaving: string[]) => ({ revision: 1, entries: [], leaving, complete: false });
const access = { kind: 'access', trust: undefined } as const;

const decide = (change: Partial<AccessRequestView>) =>
  decideRevocation(aRequestView({ request, ...change }), decisionTime);
const later = (change: Partial<AccessRequestView>) => ({ isSecretRemoved: true as const, ...change });

describe('the next action of a revocation', () => {
  const stalled = 'settled Pending AccessReady=WaitingForDeletion 30';

  it.each<[string, Partial<AccessRequestView>, string]>([
    ['the Secret goes first', {}, 'revoke-secret'],
    ['unless other finalizers hold the request', { request: heldByOthers() }, 'read-revocation-need'],
    ['a denied request loses its Secret all the same', { request: heldByOthers('Denied') }, 'revoke-secret'],
    ['then the Cluster is read', later({}), 'read-revocation-need'],
    ['without a cluster the finalizer goes', later({ revocationNeed: { kind: 'nothing' } }), 'remove-finalizer'],
    ['the target cluster is looked up', later({ revocationNeed: access }), 'find-target'],
    ['the objects are removed from it', later({ revocationNeed: access, target: aTarget }), 'revoke-objects'],
    [
      'then the finalizer goes',
      later({ revocationNeed: access, target: aTarget, areObjectsRemoved: true }),
      'remove-finalizer',
    ],
    [
      'a cluster that is not available may be lost',
      later({ revocationNeed: access, target: waiting }),
      'check-cluster-loss',
    ],
    [
      'a cluster that does not answer may be lost',
      later({
        revocationNeed: access,
        target: aTarget,
        failure: { reason: 'WaitingForCluster', message: 'Silent.' },
      }),
      'check-cluster-loss',
    ],
    [
      'lost secrets are no proof that the access is lost',
      later({ revocationNeed: { kind: 'unknown', message: 'Missing.' }, isClusterLost: false }),
      stalled,
    ],
    [
      'a lost cluster needs no revocation',
      later({ revocationNeed: access, target: waiting, isClusterLost: true }),
      'remove-finalizer',
    ],
    [
      'any other cluster is waited for',
      later({ revocationNeed: access, target: waiting, isClusterLost: false }),
      stalled,
    ],
    [
      'the finalizer stays while the issuer is trusted',
      later({
        revocationNeed: { kind: 'access', trust: trust(['request-uid']) },
        target: aTarget,
        areObjectsRemoved: true,
        isClusterLost: false,
      }),
      stalled,
    ],
    [
      'the trust for other requests does not matter',
      later({
        revocationNeed: { kind: 'access', trust: trust(['another-uid']) },
        target: aTarget,
        areObjectsRemoved: true,
      }),
      'remove-finalizer',
    ],
  ])('%s', (_, change, expected) => {
    expect(summarizeDecision(decide(change))).toBe(expected);
  });

  it('spares the Secret of another provider only if the request is not ours any more', () => {
    expect(decide({})).toEqual({ kind: 'revoke-secret' });
    expect(decide({ responsibility: 'formerly-own' })).toEqual({ kind: 'revoke-secret', onlyOfProvider: 'talos' });
  });

  it('names the Secret in the status while garbage collection has not removed it', () => {
    const obstructed = { revocationNeed: access, target: waiting, isClusterLost: false } as const;
    const status = (of: typeof request) =>
      reportOf(decide({ request: of, isSecretRemoved: true, ...obstructed })).status;
    expect(status(heldByOthers())?.secretRef).toEqual(secretRef);
    expect(status(heldRequest({}, { deletionTimestamp }, { secretRef }))?.secretRef).toBeUndefined();
  });

  it('writes no status of a request that is not ours any more, and logs the obstacle', () => {
    const change = later({
      responsibility: 'formerly-own',
      revocationNeed: access,
      target: waiting,
      isClusterLost: false,
    });
    const { status, log, requeueAfterSeconds } = reportOf(decide(change));
    expect(status).toBeUndefined();
    expect(log?.fields['obstacle']).toMatch(/Silent\.$/);
    expect(requeueAfterSeconds).toBe(30);
  });
});
