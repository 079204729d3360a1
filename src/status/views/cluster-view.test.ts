import { expect, it } from 'vitest';
import { sampleFleet } from '../../../test/support/fixtures/sample-fleet.ts';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { buildClusterJson, findOwnCluster } from './cluster-view.ts';

const view = (fleet: StatusFleet, name: string, namespace = 'shop') => {
  const cluster = findOwnCluster(fleet.sources(), namespace, name);
  return cluster && buildClusterJson(fleet.sources(), cluster, []);
};

it('has each machine with its steps, its reason, since when, and how long it usually takes', () => {
  const fleet = sampleFleet();
  const shown = view(fleet, 'checkout');
  const waiting = shown?.machineList.find(({ pool }) => pool === 'web');
  expect(waiting).toMatchObject({
    isReady: false,
    cause: { reason: 'InsufficientMemory', since: fleet.ago(1330) },
    current: { plan: 'provision' },
  });
  const step = waiting?.current?.steps.find(({ state }) => state === 'current');
  expect(step).toMatchObject({ name: 'resources-reserved', startedAt: fleet.ago(1330), usualSeconds: 1 });
});

it('has the access requests without their Secrets', () => {
  const fleet = sampleFleet();
  const cluster = findOwnCluster(fleet.sources(), 'shop', 'billing');
  if (!cluster) throw new Error('no cluster');
  fleet.request('ci', cluster, {
    spec: { token: {} },
    status: { observedGeneration: 1, phase: 'Granted', secretRef: { name: 'ci.kubeconfig' } },
  });
  const shown = view(fleet, 'billing');
  expect(shown?.access).toEqual({
    total: 1,
    first: [{ namespace: 'shop', name: 'ci', kind: 'token', phase: 'Granted' }],
  });
});

it('has the progress of the OIDC trust, the rollout and the backup', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  const cluster = fleet.cluster('prod', {
    record: {
      rollout: { revision: 'r', state: 'Changing' },
      oidc: {
        updated: 1,
        total: 3,
        requests: [{ uid: 'u', request: 'shop/people', generation: 1, state: 'Refused', message: 'Two issuers.' }],
      },
      backup: { lastSuccess: fleet.ago(60), failures: 0, bytes: 5 },
    },
  });
  fleet.machine(cluster, 0, { pending: { revision: 'r', class: 'restart', fields: [] } });
  expect(view(fleet, 'prod')).toMatchObject({
    rollout: { state: 'Changing', pendingMachines: 1, isPaused: false },
    trust: { updated: 1, total: 3, requests: [{ request: 'shop/people', state: 'Refused', message: 'Two issuers.' }] },
    backup: { lastSuccess: fleet.ago(60), failures: 0, bytes: 5 },
  });
});

it('a large cluster lists the machines that are not ready, and not all of the others', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  const cluster = fleet.cluster('prod');
  for (let slot = 0; slot < 500; slot += 1) fleet.machine(cluster, slot, { pool: 'web' });
  const broken = fleet.machine(cluster, 499, { pool: 'web', conditions: [fleet.condition('Ready', 'False')] });
  const shown = view(fleet, 'prod');
  expect([shown?.machines, shown?.readyMachines, shown?.machineList.length]).toEqual([500, 499, 200]);
  expect(shown?.machineList[0]?.name).toBe(broken.metadata.name);
});

it('a cluster of another provider is not found', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  fleet.cluster('theirs', { config: 'other' });
  expect(view(fleet, 'theirs')).toBeUndefined();
});
