import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import type { PlanJson } from '../api-types.ts';
import { buildMachineJson, findOwnMachine } from './machine-view.ts';

function fixture() {
  const fleet = new StatusFleet();
  fleet.config('home');
  const cluster = fleet.cluster('prod');
  return { fleet, cluster };
}

const statesOf = (plan: PlanJson | undefined) =>
  Object.fromEntries((plan?.steps ?? []).map(({ name, state }) => [name, state]));

it('a machine in creation has every step of its platform: done, current and next', () => {
  const { fleet, cluster } = fixture();
  const machine = fleet.walk(
    cluster,
    0,
    [
      ['address-claimed', 2],
      ['image-cached', 30],
    ],
    { progress: { failures: 2 } },
  );
  const { plans } = buildMachineJson(fleet.sources(), machine, []);
  const [plan] = plans;
  expect(plan?.steps.slice(0, 3)).toEqual([
    { name: 'address-claimed', state: 'done', startedAt: fleet.ago(32), endedAt: fleet.ago(30), tries: 3 },
    { name: 'image-cached', state: 'current', startedAt: fleet.ago(30), tries: 3 },
    { name: 'resources-reserved', state: 'next' },
  ]);
  expect(plan?.steps.at(-1)).toEqual({ name: 'seed-emptied', state: 'next' });
});

it('says how long a step usually takes, from other machines', () => {
  const { fleet, cluster } = fixture();
  for (const [slot, seconds] of [20, 40, 90].entries())
    fleet.walk(cluster, slot, [
      ['image-cached', seconds],
      ['resources-reserved', 1],
    ]);
  const machine = fleet.walk(cluster, 3, [['image-cached', 500]]);
  const [plan] = buildMachineJson(fleet.sources(), machine, []).plans;
  expect(plan?.steps.find(({ name }) => name === 'image-cached')?.usualSeconds).toBe(40);
});

it('steps before the current one that were not seen are done, without times', () => {
  const { fleet, cluster } = fixture();
  const machine = fleet.walk(cluster, 0, [['await-member', 5]]);
  const [plan] = buildMachineJson(fleet.sources(), machine, []).plans;
  expect(statesOf(plan)).toMatchObject({ 'vm-created': 'unseen', 'await-member': 'current', 'seed-emptied': 'next' });
});

it('shows the plan that runs first, and keeps what was seen of the one before', () => {
  const { fleet, cluster } = fixture();
  fleet.walk(cluster, 0, [
    ['vm-created', 5],
    ['powered-on', 5],
  ]);
  fleet.machine(cluster, 0);
  const machine = fleet.machine(cluster, 0, {
    progress: { plan: 'repair', step: 'vm-restored', since: fleet.ago(9), finishedAt: undefined as never },
  });
  const { plans } = buildMachineJson(fleet.sources(), machine, []);
  expect(plans.map(({ plan }) => plan)).toEqual(['repair', 'provision']);
  expect(statesOf(plans[1])).toMatchObject({ 'vm-created': 'done', 'powered-on': 'done' });
});

it('the drain comes before the steps of the platform in a release', () => {
  const { fleet, cluster } = fixture();
  const release = { progress: { plan: 'release' as const } };
  const machine = fleet.walk(
    cluster,
    0,
    [
      ['node-drained', 60],
      ['powered-off', 5],
    ],
    release,
  );
  const [plan] = buildMachineJson(fleet.sources(), machine, []).plans;
  expect(plan?.steps.slice(0, 3).map(({ name, state }) => [name, state])).toEqual([
    ['node-drained', 'done'],
    ['powered-off', 'current'],
    ['vm-deleted', 'next'],
  ]);
});

it('a finished machine runs no plan', () => {
  const { fleet, cluster } = fixture();
  const view = buildMachineJson(fleet.sources(), fleet.machine(cluster, 0), []);
  expect(view).not.toHaveProperty('current');
  expect(view).toMatchObject({ isReady: true, cluster: { namespace: 'shop', name: 'prod' } });
  expect(view.plans[0]?.steps.some(({ state }) => state === 'current' || state === 'next')).toBe(false);
});

it('has the console of its platform', () => {
  const { fleet, cluster } = fixture();
  const machine = fleet.machine(cluster, 7);
  expect(buildMachineJson(fleet.sources(), machine, []).consoles).toEqual([
    { name: 'Serial console', url: 'https://nas.example.org/ui/vm/107/serial' },
  ]);
});

it('has no console when its ProviderConfig is gone, or no longer names its system', () => {
  const { fleet, cluster } = fixture();
  fleet.config('several', (raw) => {
    const { url, credentialsRef, pool, bridge, sizes } = raw['truenas'] as Record<string, unknown>;
    raw['truenas'] = { sizes, systems: [{ name: 'a', url, credentialsRef, pool, bridge }] };
  });
  const consolesOf = (providerConfigRef: { name: string }, failureDomain: string) => {
    const machine = fleet.machine(cluster, 0, { spec: { providerConfigRef, failureDomain } });
    return buildMachineJson(fleet.sources(), machine, []).consoles.length;
  };
  expect(consolesOf({ name: 'several' }, 'a')).toBe(1);
  expect(consolesOf({ name: 'several' }, 'b')).toBe(0);
  expect(consolesOf({ name: 'gone' }, 'a')).toBe(0);
});

it('machines of other instances are not found', () => {
  const { fleet, cluster } = fixture();
  const spec = { providerRef: { name: 'talos', environment: 'other', namespace: 'openmcp-system' } };
  const { metadata } = fleet.machine(cluster, 0, { spec });
  expect(findOwnMachine(fleet.sources(), metadata.name)).toBeUndefined();
});
