import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aSpec } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  ready,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { AuthorityRotation } from '../../talos/secrets/authority-rotation.ts';
import { createAuthority } from '../../talos/secrets/secrets-bundle.ts';
import { hashComparison } from '../rollout/spec-hash.ts';
import { decideCluster } from './decide.ts';
import { describeClusterRotation, secondsUntilRotation } from './decide-cluster-rotation.ts';
import type { ClusterView } from './view.ts';

const spec = aSpec();
const rotation: AuthorityRotation = {
  ...{ authority: 'kubernetes', phase: 'accept', startedAt: '2026-11-21T09:00:00Z' },
  other: await createAuthority('kubernetes', new Date()),
};

/** Machines that were found up to date with these secrets. */
const current = (secrets: { readonly authorities: string }): Machine[] =>
  threeMachines().map((machine) => ({
    ...machine,
    status: {
      ...{ observedGeneration: 1, phase: 'Ready', compared: hashComparison(spec, '', secrets) },
      conditions: [...ready, aCondition('UpToDate')],
    },
  }));
const asking = (value?: string): Cluster =>
  aCluster({}, { annotations: value === undefined ? {} : { [annotations.rotateCa]: value } });

function view(more: Partial<ClusterView> = {}): ClusterView {
  const secrets = more.secrets ?? someSecrets({ bootstrappedAt: 'then' });
  return aClusterView({
    ...{ spec, secrets, endpoint: anEndpoint, machines: current(secrets) },
    ...{ cluster: asking(), proof: { ok: true, version: '1.35.4' } },
    ...more,
    // The record is complete.
    recorded: aClusterView({ secrets }).recorded,
  });
}
/** With other authorities than `someSecrets`. */
const other = someSecrets({ bootstrappedAt: 'then', authorities: 'd'.repeat(16) });

describe('the rotation of an authority of a Cluster', () => {
  it('begins on request, and is reported from then on', () => {
    expect(decideCluster(view()).kind).toBe('settled');
    expect([describeClusterRotation(view()), secondsUntilRotation(view())]).toEqual([
      undefined,
      Number.POSITIVE_INFINITY,
    ]);
    const asked = view({ cluster: asking('kubernetes') });
    expect(decideCluster(asked)).toEqual({ kind: 'rotate', action: { kind: 'begin', authority: 'kubernetes' } });
    expect(describeClusterRotation(asked)).toMatchObject({ status: 'False', reason: 'Rotating' });
    expect(secondsUntilRotation(asked)).toBe(5);
    const conditions = [aCondition('CertificateAuthoritiesRotated', 'False')];
    const over = view({ cluster: { ...asking(), status: { observedGeneration: 1, phase: '', conditions } } });
    expect(describeClusterRotation(over)).toMatchObject({ status: 'True' });
  });

  it('waits for Machines that were compared with the authorities of before', () => {
    const behind = view({ secrets: other, machines: current(someSecrets()), cluster: asking('talos') });
    expect(decideCluster(behind).kind).toBe('settled');
    expect(describeClusterRotation(behind)).toMatchObject({
      ...{ reason: 'RotationPending' },
      message: expect.stringContaining('-cp-0 is not up to date'),
    });
  });

  it('reports a request that cannot be understood, and does nothing', () => {
    const unknown = view({ cluster: asking('etcd') });
    expect(decideCluster(unknown).kind).toBe('settled');
    expect(describeClusterRotation(unknown)).toMatchObject({ reason: 'RotationRefused' });
    expect(secondsUntilRotation(unknown)).toBe(Number.POSITIVE_INFINITY);
  });

  it('does not begin in a Cluster that is being deleted', () => {
    const leaving = { ...asking('talos'), metadata: { ...asking('talos').metadata, deletionTimestamp: 'now' } };
    expect(describeClusterRotation(view({ cluster: leaving }))).toBeUndefined();
  });

  it('asks the nodes once in a reconcile, and reports what is wrong', () => {
    const check = { problem: 'cp-1 does not answer.' };
    const asked = view({ secrets: { ...other, rotation }, rotationCheck: check });
    expect(describeClusterRotation(asked)).toMatchObject({
      ...{ status: 'False', reason: 'Rotating' },
      message: expect.stringMatching(
        /^The Kubernetes CA is rotated, step 1 of 3: .* 3 of 3 machines .*cp-1 does not answer\.$/,
      ),
    });
    expect(describeClusterRotation({ ...asked, rotationCheck: { problem: undefined } })).toMatchObject({
      message: 'The next step begins.',
    });
  });
});
