import { describe, expect, it } from 'vitest';
import { aCondition, aSpec } from '../../../test/support/fixtures/builders.ts';
import { aClusterView, requesting, someSecrets, threeMachines } from '../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { describeClusterUpToDate } from './decide-cluster-rollout.ts';
import { decideUpgradeAction, secondsUntilUpgrade, servedVersion, versionsOfNewMachine } from './decide-kubernetes.ts';
import type { ClusterView } from './view.ts';

const from = '1.34.1';
const to = '1.35.4';

/** Control planes of 1.34 of which the first `upgraded` run the next API server. */
const controlPlanes = (upgraded: number): Machine[] =>
  threeMachines([aCondition('Ready'), aCondition('UpToDate')]).map((machine, i) => ({
    ...machine,
    spec: {
      ...machine.spec,
      kubernetesVersion: from,
      ...(upgraded > 0 && { components: { apiServer: to } }),
    },
    status: {
      ...{ observedGeneration: 1, phase: 'Ready', conditions: [], ...machine.status },
      applied: {
        talosVersion: '1.13.9',
        kubernetesVersion: from,
        components: { apiServer: i < upgraded ? to : from, controllerManager: from, scheduler: from },
      },
    },
  }));

const view = (more: Partial<ClusterView> = {}): ClusterView =>
  aClusterView({
    cluster: requesting(to),
    secrets: someSecrets({ kubernetesVersion: from, bootstrappedAt: '2026-11-21T09:00:00Z' }),
    machines: controlPlanes(0),
    proof: { ok: true, version: from },
    ...more,
  });

describe('a Cluster whose Kubernetes version has changed', () => {
  it('begins when its API server answers', () => {
    expect(decideUpgradeAction(view())).toMatchObject({ kind: 'prepare', hop: { from, to } });
    expect(decideUpgradeAction(view({ proof: { ok: false, message: 'no' } }))).toBeUndefined();
  });

  it('changes nothing in deletion, or while its spec cannot be determined', () => {
    const { metadata, ...rest } = requesting(to);
    const leaving = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-11-21T09:00:00Z' } };
    expect(decideUpgradeAction(view({ cluster: leaving }))).toBeUndefined();
    expect(decideUpgradeAction(view({ spec: undefined }))).toBeUndefined();
  });

  it('D19: is held by the annotation pause, and outside of the windows', () => {
    const { metadata, ...rest } = requesting(to);
    const paused = { ...rest, metadata: { ...metadata, annotations: { [annotations.rollout]: 'pause' } } };
    expect(decideUpgradeAction(view({ cluster: paused }))).toBeUndefined();
    const windows = [{ days: ['Sunday'], from: '03:00', to: '03:01' }];
    expect(
      decideUpgradeAction(view({ spec: aSpec((raw) => Object.assign(raw, { rollout: { windows } })) })),
    ).toBeUndefined();
  });

  it('shows in UpToDate what happens, and stays what it is otherwise', () => {
    expect(describeClusterUpToDate(view({ machines: controlPlanes(2) }))).toMatchObject({
      status: 'False',
      reason: 'Updating',
      message: 'Kubernetes 1.34.1 is upgraded to 1.35.4: 2 of 3 API servers run 1.35.4.',
    });
    const preparation = { kind: 'blocked', reason: 'ImageNotPulled', message: 'no image' } as const;
    expect(describeClusterUpToDate(view({ upgrade: { preparation } }))).toMatchObject({
      status: 'False',
      reason: 'ImageNotPulled',
      message: 'no image',
    });
    expect(describeClusterUpToDate(view({ cluster: requesting(from) }))).toMatchObject({ status: 'True' });
  });

  it('is looked at again soon while it is upgraded', () => {
    const preparation = { kind: 'waits', message: '1 of 9 images' } as const;
    expect(secondsUntilUpgrade(view({ upgrade: { preparation } }))).toBeLessThan(10);
    expect(secondsUntilUpgrade(view({ cluster: requesting(from) }))).toBe(Number.POSITIVE_INFINITY);
  });

  it('D18: gives new Machines the versions of this moment', () => {
    expect(versionsOfNewMachine(view({ machines: controlPlanes(1) }), 'controlplane')).toEqual({
      kubernetesVersion: from,
      components: { apiServer: to },
    });
    expect(versionsOfNewMachine(view({ machines: controlPlanes(1) }), 'worker')).toEqual({ kubernetesVersion: from });
    const fresh = view({ secrets: someSecrets({ kubernetesVersion: from }), machines: [] });
    expect(versionsOfNewMachine(fresh, 'controlplane')).toEqual({ kubernetesVersion: from });
  });

  it('is labelled with the oldest API server while they differ', () => {
    const proof = { ok: true, version: to } as const;
    expect(servedVersion(view({ proof, machines: controlPlanes(2) }))).toBe(from);
    expect(servedVersion(view({ proof, machines: controlPlanes(3) }))).toBe(to);
    expect(servedVersion(view({ proof: undefined }))).toBeUndefined();
  });
});
