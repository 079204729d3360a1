import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aSpec } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  ready,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { hashComparison } from '../rollout/spec-hash.ts';
import { decideCluster, decideRequeueAfterSeconds, describeClusterConditions } from './decide.ts';
import { describeClusterRollout, describeClusterUpToDate, findFulfilledRequest } from './decide-cluster-rollout.ts';
import type { ClusterView } from './view.ts';

const spec = aSpec();
const compared = hashComparison(spec, '', someSecrets());
const outdated = { ...aCondition('UpToDate', 'False'), reason: 'UpdatePending', message: 'Differs.' };
const change: Partial<MachineStatus> = {
  pending: { revision: 'new', class: 'live', fields: ['machine.time'] },
  conditions: [...ready, outdated],
};

/** Machines of which the first ones differ. */
function machinesWith(count: number, status: Partial<MachineStatus> = change): Machine[] {
  const progress: MachineStatus['progress'] = {
    ...{ plan: 'provision', step: '', since: '', failures: 0, finishedAt: 'then', facts: {} },
  };
  const current = { observedGeneration: 1, phase: 'Ready', compared, progress };
  return threeMachines().map((machine, i) => ({
    ...machine,
    status: { ...current, conditions: [...ready, aCondition('UpToDate')], ...(i < count ? status : {}) },
  }));
}
const noted = (value: string) => aCluster({}, { annotations: { [annotations.rollout]: value } });
const view = (more: Partial<ClusterView> = {}): ClusterView =>
  aClusterView({
    ...{ spec, secrets: someSecrets({ bootstrappedAt: 'then' }), endpoint: anEndpoint },
    ...{ machines: machinesWith(2), proof: { ok: true, version: '1.35.4' } },
    ...more,
  });
const nightly = aSpec((raw) => Object.assign(raw, { rollout: { windows: [{ from: '09:10', to: '10:00' }] } }));

describe('the rollout of a Cluster', () => {
  it('releases the first Machine, and reports how many differ', () => {
    const decision = decideCluster(view());
    expect(decision).toMatchObject({ kind: 'update-machine', update: { isResumed: false } });
    expect(describeClusterUpToDate(view())).toMatchObject({
      ...{ status: 'False', reason: 'UpdatePending' },
      message: expect.stringMatching(/^2 of 3 machines are not up to date\. prod-.*-cp-0: Differs\./),
    });
    expect(describeClusterUpToDate(view({ machines: machinesWith(0) }))).toMatchObject({ status: 'True' });
  });

  it('waits for a user who has paused it', () => {
    const paused = view({ cluster: noted('pause') });
    expect(decideCluster(paused).kind).toBe('settled');
    expect(describeClusterUpToDate(paused)).toMatchObject({ reason: 'RolloutPaused' });
  });

  it('waits for a window, and is reconciled when it begins', () => {
    const closed = view({ spec: nightly });
    expect(decideCluster(closed).kind).toBe('settled');
    const message = expect.stringContaining('begins at 2026-11-21T09:10Z');
    expect(describeClusterUpToDate(closed)).toMatchObject({ reason: 'OutsideWindow', message });
    const states = describeClusterConditions(closed);
    const seconds = (now: Date) => decideRequeueAfterSeconds({ ...closed, now }, states, { isConnected: true, now });
    expect(seconds(closed.now)).toBe(600);
    expect(seconds(new Date('2026-11-21T09:09:30Z'))).toBe(30);
    expect(seconds(new Date('2026-11-21T09:30:00Z'))).toBe(1800);
  });

  it('begins outside of the windows when a user says now, and ends that when nothing waits', () => {
    const now = view({ spec: nightly, cluster: noted('now') });
    expect(decideCluster(now).kind).toBe('update-machine');
    expect(findFulfilledRequest(now)).toBeUndefined();
    expect(decideCluster({ ...now, machines: machinesWith(0) })).toEqual({ kind: 'end-rollout-request', retry: [] });
    expect(findFulfilledRequest({ ...now, machines: machinesWith(1, { compared: 'old' }) })).toBeUndefined();
  });

  it('tries the failed Machines again when a user says retry', () => {
    const failed = { ...outdated, reason: 'UpdateFailed', message: 'Refused.' };
    const machines = machinesWith(1, { ...change, conditions: [...ready, failed] });
    machines[0]!.spec.revision = 'new';
    const stopped = view({ machines });
    expect(describeClusterUpToDate(stopped)).toMatchObject({ reason: 'UpdateFailed' });
    expect(decideCluster(stopped).kind).toBe('settled');
    expect(decideCluster({ ...stopped, cluster: noted('retry') })).toEqual({
      kind: 'end-rollout-request',
      retry: [machines[0]],
    });
  });

  it('reports an unknown value of the annotation, which has no effect', () => {
    const unknown = view({ cluster: noted('stop') });
    expect(decideCluster(unknown).kind).toBe('update-machine');
    const message = expect.stringMatching(/"stop" is unknown/);
    expect(describeClusterUpToDate(unknown)).toMatchObject({ message });
    expect(describeClusterUpToDate({ ...unknown, machines: machinesWith(0) })).toMatchObject({
      status: 'True',
      message,
    });
  });

  it('says why the next Machine was not released', () => {
    const obstacle = { message: 'Cluster shop/a is changed first.', isTurn: true };
    expect(decideCluster(view({ updateObstacle: obstacle })).kind).toBe('settled');
    const message = expect.stringMatching(/shop\/a is changed first/);
    expect(describeClusterUpToDate(view({ updateObstacle: obstacle }))).toMatchObject({ message });
  });

  it('records that the cluster has followed its ProviderConfig', () => {
    expect(describeClusterRollout(view())).toBeUndefined();
    expect(describeClusterRollout(view({ machines: machinesWith(0) }))).toEqual({
      ...{ revision: 'revision', state: 'Current' },
    });
  });
});
