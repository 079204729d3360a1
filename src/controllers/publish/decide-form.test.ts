import { describe, expect, it } from 'vitest';
import { conditionFalse } from '../../api/conditions.ts';
import { annotations, labels } from '../../api/names.ts';
import type { Secret } from '../../kube/core-types.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { TargetCluster } from '../access-request/find-target-cluster.ts';
import { decideForm, type FormDecision, type FormView } from './decide-form.ts';
import { describePublications, type Publication, type PublicationForm } from './publication.ts';
import { describePublishedSecret, readTrustedCertificates } from './published-secret.ts';

const cluster = { namespace: 'shop', name: 'main', uid: 'uid' };
const now = new Date('2026-01-01T00:00:00Z');
const days = (count: number): Date => new Date(now.getTime() + count * 86_400_000);
const target: TargetCluster = {
  ref: cluster,
  server: { url: 'https://192.0.2.1:6443', ca: 'CA' },
  trust: undefined,
  trustReport: undefined,
};
const section = { namespace: 'fleet', clusterRole: 'view', labels: { team: 'a' } };
const publicationOf = (form: PublicationForm): Publication => {
  const [one] = describePublications(
    { clusters: 'All', [form]: form === 'clusterProfile' ? { ...section, accessProvider: 'reader' } : section },
    { environment: 'test', provider: 'talos', cluster },
  );
  if (!one) throw new Error(form);
  return one;
};
const publication = publicationOf('kubeconfigSecret');
const inputs = { server: target.server, account: 'account' };
const token = (created: Date, expires: Date) => ({ token: new SecretString('h.p.s'), created, expires });
const secretWith = (
  change: { metadata?: object } & Partial<Omit<Secret, 'metadata'>> = {},
  of = publication,
): Secret => {
  const secret = describePublishedSecret(of, 'talos', inputs, token(days(-1), days(29)));
  return { ...secret, ...change, metadata: { ...secret.metadata, ...change.metadata } };
};
const viewWith = (change: Partial<FormView> = {}): FormView => ({
  ...{ publication, provider: 'talos', ownNamespace: 'openmcp-system', target, isStable: true, wasPublished: false },
  ...{ secret: undefined, ...change },
});
const known = { ensured: { account: 'account' }, signingKeys: { ids: undefined } } as const;
const summarize = (decision: FormDecision): string =>
  decision.kind !== 'settled'
    ? decision.kind
    : decision.result.kind === 'published'
      ? `published until ${decision.result.renewalDue.toISOString().slice(0, 10)}`
      : `${decision.result.kind} ${decision.result.problem.reason}`;
const decide = (change: Partial<FormView> = {}, at = now): string => summarize(decideForm(viewWith(change), at));
const waiting = { waiting: conditionFalse('ClusterReady', 'WaitingForCluster', 'Not yet.') };

describe('the next action for a form', () => {
  it.each<[string, Partial<FormView>, string]>([
    ['a Cluster that is not ready is not published', { isStable: false }, 'waiting PublishPending'],
    [
      'one that was published stays so',
      { isStable: false, wasPublished: true, secret: secretWith(), ...known },
      'published until 2026-01-24',
    ],
    [
      'a cluster that does not answer is waited for',
      { target: waiting, wasPublished: true },
      'waiting WaitingForCluster',
    ],
    ['the namespace of the provider is refused', { ownNamespace: 'fleet' }, 'problem InvalidConfig'],
    ['the name is looked up before anything is made', {}, 'seek-secret'],
    ['then the account is made', { soughtSecret: { object: undefined } }, 'ensure-access'],
    ['then its token', { soughtSecret: { object: undefined }, ensured: { account: 'account' } }, 'issue-token'],
    [
      'a token is compared with the keys of the cluster',
      { secret: secretWith(), ensured: { account: 'account' } },
      'read-signing-keys',
    ],
    ['a good Secret is left alone', { secret: secretWith(), ...known }, 'published until 2026-01-24'],
    [
      'another account needs another token',
      { secret: secretWith(), ...known, ensured: { account: 'other' } },
      'issue-token',
    ],
    [
      'M16: changed data are replaced',
      { secret: secretWith({ data: { kubeconfig: 'eA==' } }), ...known },
      'issue-token',
    ],
    [
      'M16: labels that were removed are restored',
      {
        secret: secretWith({
          metadata: { labels: { [labels.provider]: 'talos', [labels.published]: 'kubeconfigSecret' } },
        }),
        ...known,
      },
      'restore-marks',
    ],
    [
      'M16: a Secret of others is not touched',
      { soughtSecret: { object: secretWith({ metadata: { labels: {} } }) } },
      'problem NotManaged',
    ],
    [
      'nor one of another Cluster',
      { secret: secretWith({ metadata: { annotations: { [annotations.clusterName]: 'x' } } }) },
      'problem NotManaged',
    ],
    ['an immutable Secret is named', { secret: secretWith({ immutable: true }) }, 'problem SecretNotWritable'],
    [
      'a Secret that a consumer holds is waited for',
      { secret: secretWith({ metadata: { deletionTimestamp: 'x', finalizers: ['c'] } }) },
      'problem WithdrawalHeld',
    ],
    ['a problem ends the reconcile', { problem: { reason: 'CrdMissing', message: '' } }, 'problem CrdMissing'],
  ])('%s', (_, change, expected) => {
    expect(decide(change)).toBe(expected);
  });

  it('M2: a token is renewed after four fifths of its life', () => {
    expect(decide({ secret: secretWith(), ...known }, days(22))).toBe('published until 2026-01-24');
    expect(decide({ secret: secretWith(), ...known }, days(23))).toBe('issue-token');
  });

  it('M14: what is left of an earlier Cluster of the same name is removed first', () => {
    const former = publicationOf('kubeconfigSecret');
    const secret = secretWith({}, { ...former, cluster: { ...cluster, uid: 'former' } });
    expect(decide({ secret })).toBe('remove-former-secret');
  });

  it('a ClusterProfile comes after its Secret, and says when its cluster does not answer', () => {
    const profile = publicationOf('clusterProfile');
    const secret = secretWith({}, profile);
    expect(decide({ publication: profile, secret, ...known })).toBe('ensure-profile');
    expect(decide({ publication: profile, secret, ...known, isProfileEnsured: true })).toContain('published');
    expect(decide({ publication: profile, target: waiting, wasPublished: true })).toBe('report-health');
    expect(decide({ publication: profile, target: waiting })).toBe('waiting WaitingForCluster');
  });
});

describe('M1: a published Secret', () => {
  it('has the same bytes for the same token, and the keys of its consumer only', () => {
    const again = describePublishedSecret(publication, 'talos', inputs, token(days(-1), days(29)));
    expect(again).toEqual(secretWith());
    expect(Object.keys(again.data ?? {})).toEqual(['kubeconfig']);
    expect(again.metadata.labels).toMatchObject({ 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true', team: 'a' });
  });

  it.each(['kubeconfigSecret', 'clusterProfile', 'argoCD'] as const)(
    'names the certificates that it trusts: %s',
    (form) => {
      expect(readTrustedCertificates(secretWith({}, publicationOf(form)))).toBe(Buffer.from('CA').toString('base64'));
    },
  );
});
