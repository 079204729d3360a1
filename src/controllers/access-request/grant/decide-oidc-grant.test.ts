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
import { conditionFalse, mergeConditions } from '../../../api/conditions.ts';
import type { RequestTrustStatus } from '../../rollout/oidc-trust/trust-report.ts';
import { accessSecretKeys } from '../access-secret.ts';
import type { TargetCluster } from '../find-target-cluster.ts';
import type { AccessRequestView } from '../view.ts';
import { decideGrant } from './decide-grant.ts';

const issuer = 'https://login.example.org';
const oidc = { name: 'login', issuer, clientID: 'kubectl' };
const request = heldRequest({ token: undefined, oidc });
const ensured = { account: undefined };
const ca = 'ISSUER CA';

function targetWith(state: RequestTrustStatus['state'], change: Partial<RequestTrustStatus> = {}): TargetCluster {
  const status = { uid: 'request-uid', request: 'team/mine', generation: 1, state, message: 'Why.', ...change };
  return { ...aTarget, trustReport: { updated: 1, total: 3, requests: [status] } };
}

const trusting = (target: TargetCluster): TargetCluster => ({
  ...target,
  trust: {
    revision: 1,
    entries: [
      {
        ...{
          issuer,
          usernameClaim: 'sub',
          usernamePrefix: 'login:',
          groupsClaim: 'groups',
          groupsPrefix: 'login:',
          ca,
        },
        requests: [{ uid: 'request-uid', clientId: 'kubectl', complete: true }],
      },
    ],
    leaving: [],
    complete: true,
  },
});

const decide = (target: TargetCluster, change: Partial<AccessRequestView> = {}) =>
  decideGrant(aRequestView({ request, target, ...change }), decisionTime);

describe('the next action for an OIDC request', () => {
  const withdrawn = { areObjectsRemoved: true, isSecretRemoved: true } as const;

  it.each<[string, TargetCluster, Partial<AccessRequestView>, string]>([
    ['nothing is granted before the Cluster has decided', aTarget, {}, 'remove-objects'],
    ['nor is the Secret left', aTarget, { areObjectsRemoved: true }, 'remove-secret'],
    [
      'the decision of the Cluster is awaited',
      aTarget,
      withdrawn,
      'settled Pending AccessReady=WaitingForTrust TrustReady=WaitingForTrust 60',
    ],
    [
      'a decision about an earlier generation does not count',
      targetWith('Trusted', { generation: 0 }),
      withdrawn,
      'settled Pending AccessReady=WaitingForTrust TrustReady=WaitingForTrust 60',
    ],
    ['a rejected issuer loses its access', targetWith('Refused'), {}, 'remove-objects'],
    [
      'a rejected issuer is reported',
      targetWith('Refused'),
      withdrawn,
      'settled Pending AccessReady=TrustRejected TrustReady=TrustRejected 600',
    ],
    ['a failed issuer loses its access', targetWith('Failed'), {}, 'remove-objects'],
    [
      'a failed issuer is reported',
      targetWith('Failed'),
      withdrawn,
      'settled Pending AccessReady=TrustFailed TrustReady=TrustFailed 600',
    ],
    [
      'access of an earlier spec stays while its issuer is trusted',
      trusting(targetWith('Failed')),
      {},
      'settled Pending AccessReady=TrustFailed TrustReady=TrustFailed 600',
    ],
    ['the objects are created during the rollout', targetWith('Rolling'), {}, 'ensure-objects'],
    [
      'the Secret of an earlier token is removed during the rollout',
      targetWith('Rolling'),
      { ensured, secret: aTokenSecret(60) },
      'remove-secret',
    ],
    [
      'the rollout is awaited',
      targetWith('Rolling'),
      { ensured },
      'settled Pending AccessReady=WaitingForTrust TrustReady=WaitingForTrust 60',
    ],
    ['the Secret comes last', targetWith('Trusted'), { ensured }, 'write-oidc-secret'],
    [
      'the Secret of an earlier token is replaced',
      targetWith('Trusted'),
      { ensured, secret: aTokenSecret(60) },
      'write-oidc-secret',
    ],
    [
      'a written Secret ends the reconcile',
      targetWith('Trusted'),
      { ensured, written: { renewalDue: undefined } },
      'settled Granted 590',
    ],
    [
      'an invalid request loses its roles',
      targetWith('Trusted'),
      { request: heldRequest({ token: undefined, oidc: { ...oidc, roles: [{ rules: [{ verbs: [] }] }] } }) },
      'remove-objects',
    ],
  ])('%s', (_, target, change, expected) => {
    expect(summarizeDecision(decide(target, change))).toBe(expected);
  });

  it('leaves a Secret that has the kubeconfig', () => {
    const decision = decide(trusting(targetWith('Trusted')), { ensured });
    if (decision.kind !== 'write-oidc-secret') throw new Error(decision.kind);
    const text = decision.kubeconfig.reveal();
    expect(text).toContain(Buffer.from(ca).toString('base64'));
    const data = { [accessSecretKeys.kubeconfig]: Buffer.from(text).toString('base64') };
    const secret = aTokenSecret(60, { data });
    expect(summarizeDecision(decide(trusting(targetWith('Trusted')), { ensured, secret }))).toBe('settled Granted 590');
    expect(decide(targetWith('Trusted'), { ensured, secret })).toMatchObject({
      kind: 'write-oidc-secret',
      isNew: false,
    });
  });

  it('reports a failed issuer as an Event once', () => {
    const reported = [conditionFalse('TrustReady', 'TrustFailed', 'Why.')];
    const conditions = mergeConditions([], reported, { generation: 1, now: decisionTime.now });
    const toldRequest = heldRequest({ token: undefined, oidc }, {}, { conditions });
    const target = trusting(targetWith('Failed'));
    expect(reportOf(decide(target)).warning).toMatchObject({ reason: 'TrustFailed', message: 'Why.' });
    expect(reportOf(decide(target, { request: toldRequest })).warning).toBeUndefined();
  });
});
