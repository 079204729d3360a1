import { describe, expect, it } from 'vitest';
import { KubeError } from '../../kube/errors.ts';
import { TargetRejectionError } from '../access-request/target-cluster/rejection-collector.ts';
import { explainProblem } from './explain-problem.ts';

const place = { form: 'argoCD', namespace: 'argocd' } as const;
const error = (status: number, details = {}) =>
  new KubeError({ status, reason: status === 404 ? 'NotFound' : 'Forbidden', message: 'No.', details });

describe('what a user is told of an error', () => {
  it.each([
    ['a missing namespace', error(404, { kind: 'namespaces', name: 'argocd' }), 'issue-token', 'NamespaceMissing'],
    ['a rejection by the platform cluster', error(403), 'issue-token', 'PublishRejected'],
    ['a rejection by the published cluster', error(403), 'ensure-access', 'TargetRejected'],
    ['one that is known to be its', new TargetRejectionError('No.'), 'issue-token', 'TargetRejected'],
    ['a cluster that does not answer', error(0), 'ensure-access', 'WaitingForCluster'],
  ] as const)('%s', (_, cause, action, reason) => {
    expect(explainProblem(cause, place, action)?.reason).toBe(reason);
  });

  it('a platform cluster that does not answer is no problem of the Cluster', () => {
    expect(explainProblem(error(0), place, 'seek-secret')).toBeUndefined();
    expect(explainProblem(error(503), place, 'restore-marks')).toBeUndefined();
  });

  it('names the field and the remedy', () => {
    const { message } = explainProblem(error(404, { kind: 'namespaces', name: 'argocd' }), place, 'issue-token') ?? {};
    expect(message).toContain('spec.publish.argoCD.namespace');
    expect(message).toContain('kubectl create namespace argocd');
  });
});
