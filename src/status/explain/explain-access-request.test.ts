import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { explainAccessRequest } from './explain-access-request.ts';
import { explainCluster } from './explain-cluster.ts';

const fleet = new StatusFleet();
const cluster = fleet.cluster('prod');
const waiting = (type: string, reason: string, message: string) => [
  fleet.condition(type, 'False', { reason, message }),
  fleet.condition('Ready', 'False', { reason, message }),
];
const request = (phase: string, conditions: ReturnType<typeof waiting>, spec: object = { token: {} }) =>
  fleet.request('mine', cluster, { spec, status: { observedGeneration: 1, phase, conditions } } as never);

it('granted access waits for nothing', () => {
  expect(explainAccessRequest(request('Granted', [fleet.condition('Ready', 'True')]), undefined)).toMatchObject({
    object: { kind: 'AccessRequest', namespace: 'shop', name: 'mine' },
    state: 'granted',
    isReady: true,
    findings: [],
    nextStep: 'Nothing.',
  });
});

it('a request without a status', () => {
  const { status: _, ...unanswered } = request('Pending', []);
  expect(explainAccessRequest(unanswered, undefined)).toMatchObject({
    state: 'not answered yet',
    guide: 'docs/troubleshoot.md#nothing-happens',
  });
});

it('a request that waits for its Cluster waits for what that waits for', () => {
  const creating = fleet.cluster('new', {
    isReachable: false,
    conditions: waiting('Accepted', 'VersionNotOffered', 'Use 1.35.4.'),
  });
  const explained = explainCluster({ platforms: [], machines: [], config: undefined }, creating);
  const pending = request('Pending', waiting('ClusterReady', 'WaitingForCluster', 'It is not ready.'));
  const { findings, nextStep, guide } = explainAccessRequest(pending, explained);
  expect(findings.map(({ object, reason }) => [object.kind, reason])).toEqual([
    ['AccessRequest', 'WaitingForCluster'],
    ['Cluster', 'VersionNotOffered'],
  ]);
  expect(nextStep).toMatch(/^Use a version/);
  expect(guide).toBe('docs/troubleshoot.md#cluster');
  // Its own fault is not that of the Cluster.
  const rejected = request('Denied', waiting('AccessReady', 'InvalidConfig', 'spec.token: It requests nothing.'));
  expect(explainAccessRequest(rejected, explained).findings).toHaveLength(1);
});

it.each([
  ['with a token', { token: {} }],
  ['by OIDC', { oidc: { issuer: 'https://login.example.org' } }],
  ['of no kind', {}],
])('a request %s says what it asks for', (kind, spec) => {
  const clusterRef = { namespace: 'shop', name: 'prod' };
  const denied = request('Denied', waiting('AccessReady', 'InvalidConfig', 'No.'), { clusterRef, ...spec });
  expect(explainAccessRequest(denied, undefined).is).toMatch(`a request for access ${kind} to Cluster shop/prod`);
});
