import { describe, expect, it } from 'vitest';
import { aCondition, aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { provisioned, ready } from '../../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../../api/machine.ts';
import type { NodePool } from '../../../api/node-pool.ts';
import { decideScaleDown, type ScaleDownView } from './decide-scale-down.ts';
import { comparePools } from './machine-slots.ts';

const going = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: '2026-11-21T10:00:00Z' },
});
const updating = (machine: Machine): Machine => ({
  ...machine,
  status: { ...machine.status!, progress: { ...machine.status!.progress!, plan: 'update' } },
});
const planes = (count: number) => Array.from({ length: count }, (_, slot) => aMachine(slot, ready));
const workers = (count: number, pool = 'work') =>
  Array.from({ length: count }, (_, slot) => aMachine(slot, ready, pool));

/** Its turn has come, and another Machine takes its place. */
const replacing = (machine: Machine): Machine => ({
  ...machine,
  spec: { ...machine.spec, revision: 'new' },
  status: { ...machine.status!, pending: { revision: 'new', class: 'replace', fields: ['size.disks'] } },
});
const unready = (machine: Machine, reason = 'StepWaiting'): Machine => ({
  ...machine,
  status: {
    ...machine.status!,
    conditions: (['Ready', 'Provisioned'] as const).map((type) => ({ ...aCondition(type, 'False'), reason })),
  },
});

const nodePoolNaming = ({ metadata: { uid = '', name }, spec: { pool } }: Machine) =>
  ({ spec: { pool, replicas: 0, machinesToDelete: [{ uid, name }] } }) as NodePool;

/** A cluster that is to have this many control planes, and these worker pools. */
function decide(
  controlPlanes: number,
  pools: Readonly<Record<string, number>>,
  machines: readonly Machine[],
  { named, ...more }: Partial<ScaleDownView> & { readonly named?: Machine | undefined } = {},
) {
  const spec = {
    ...aSpec(),
    controlPlane: { ...aSpec().controlPlane, replicas: controlPlanes },
    workerPools: Object.entries(pools).map(([name, replicas]) => ({
      ...{ name, replicas, size: 'small', labels: {}, taints: [], patches: [] },
    })),
  };
  const ref = { namespace: 'team', name: 'prod' };
  const decision = decideScaleDown({
    pools: comparePools({ ref, spec, secrets: undefined, machines, nodePools: named ? [nodePoolNaming(named)] : [] }),
    ...{ maxUnavailable: 1, isReachable: true, isTrustPending: false, obstacles: [] },
    ...more,
  });
  if (decision.kind === 'remove') return `delete of ${decision.pool.pool}`;
  return decision.kind === 'wait' ? decision.message.replace(/prod-[a-z2-7]{8}-/, '') : 'none';
}

describe('D35: whether a surplus Machine is deleted now', () => {
  it.each<[string, string, string]>([
    ['nothing is too much', decide(1, { work: 2 }, [...planes(1), ...workers(2)]), 'none'],
    ['a worker is', decide(1, { work: 1 }, [...planes(1), ...workers(2)]), 'delete of work'],
    ['a pool was removed', decide(1, {}, [...planes(1), ...workers(1)]), 'delete of work'],
    ['a control plane is', decide(3, {}, planes(5)), 'delete of cp'],
    ['their number is even', decide(3, {}, planes(4)), 'delete of cp'],
    ['both are: the control plane first', decide(1, { work: 1 }, [...planes(3), ...workers(2)]), 'delete of cp'],
    [
      'a worker is not ready and another one is too much',
      decide(1, { work: 1, other: 1 }, [...planes(1), ...workers(2), aMachine(0, provisioned, 'other')]),
      'delete of work',
    ],
    [
      'a control plane is not ready and a worker is too much',
      decide(1, { work: 1 }, [aMachine(0, provisioned), ...workers(2)]),
      'delete of work',
    ],
    [
      'the surplus control plane is not ready',
      decide(1, {}, [aMachine(0, ready), aMachine(1, provisioned)]),
      'delete of cp',
    ],
    [
      'the API server is silent',
      decide(1, { work: 1 }, [...planes(1), ...workers(2)], { isReachable: false }),
      'The API server does not answer.',
    ],
    [
      'the trust changes',
      decide(1, {}, planes(3), { isTrustPending: true }),
      'The OIDC issuers of the control planes are being changed.',
    ],
    [
      'a Machine is updated',
      decide(1, { work: 1 }, [...planes(1), updating(aMachine(0, ready, 'work')), aMachine(1, ready, 'work')]),
      'work-0 is being updated.',
    ],
    ['one is deleted', decide(3, {}, [...planes(4), going(aMachine(4, ready))]), 'cp-4 is being deleted.'],
    [
      'a worker is deleted and a control plane is too much',
      decide(1, { work: 1 }, [...planes(3), ...workers(1), going(aMachine(1, ready, 'work'))]),
      'work-1 is being deleted.',
    ],
    [
      'etcd is ill',
      decide(1, {}, planes(3), { obstacles: [{ pool: 'cp', message: 'cp-0: its etcd member is not healthy.' }] }),
      'cp-0: its etcd member is not healthy.',
    ],
    [
      'a worker is not ready and a control plane is too much',
      decide(1, { work: 1 }, [...planes(3), aMachine(0, provisioned, 'work')]),
      'work-0 is not ready.',
    ],
    ['a Machine is missing', decide(3, { work: 1 }, planes(5)), 'work-0 does not exist yet.'],
    [
      'etcd is ill, and a worker is too much',
      decide(1, { work: 1 }, [...planes(3), ...workers(2)], { obstacles: [{ pool: 'cp', message: 'ill' }] }),
      'delete of work',
    ],
    [
      'a check of each pool with too many has failed',
      decide(1, { work: 1 }, [...planes(3), ...workers(2)], {
        obstacles: [
          { pool: 'cp', message: 'not available' },
          { pool: 'work', message: 'not available' },
        ],
      }),
      'not available',
    ],
    [
      'a worker of the pool is deleted',
      decide(1, { work: 1 }, [...planes(1), ...workers(2), going(aMachine(2, ready, 'work'))]),
      'work-2 is being deleted.',
    ],
    [
      'another pool has one in deletion',
      decide(1, { work: 1, other: 0 }, [...planes(1), ...workers(2), going(aMachine(0, ready, 'other'))]),
      'other-0 is being deleted.',
    ],
  ])('if %s', (_, decision, expected) => {
    expect(decision).toBe(expected);
  });

  it('as many workers of a pool as maxUnavailable allows', () => {
    const machines = [...planes(1), ...workers(3), going(aMachine(3, ready, 'work'))];
    expect(decide(1, { work: 1 }, machines, { maxUnavailable: 2 })).toBe('delete of work');
    const two = [...planes(1), ...workers(2), ...[2, 3].map((slot) => going(aMachine(slot, ready, 'work')))];
    expect(decide(1, { work: 1 }, two, { maxUnavailable: 2 })).toBe('work-2 is being deleted.');
  });
});

describe('D39: a Machine that is replaced', () => {
  const [first, second, third] = workers(3) as [Machine, Machine, Machine];
  const short = { shortageReasons: ['InsufficientMemory'] };

  it.each<[string, string, string]>([
    [
      'waits for its successor, if it is a worker',
      decide(1, { work: 2 }, [...planes(1), replacing(first), second]),
      'work-2 does not exist yet.',
    ],
    [
      'waits until the successor is ready',
      decide(1, { work: 2 }, [...planes(1), replacing(first), second, unready(third)], short),
      'work-2 is not ready.',
    ],
    [
      'goes first if the successor lacks what it has',
      decide(1, { work: 2 }, [...planes(1), replacing(first), second, unready(third, 'InsufficientMemory')], short),
      'delete of work',
    ],
    [
      'waits for one that the NodePool names, whatever the state of that one',
      decide(1, { work: 2 }, [...planes(1), replacing(first), second, unready(third)], { named: third }),
      'delete of work',
    ],
    [
      'goes at once, if the NodePool names it',
      decide(1, { work: 2 }, [...planes(1), replacing(first), second, unready(third)], { named: first }),
      'delete of work',
    ],
    ['goes then', decide(1, { work: 2 }, [...planes(1), replacing(first), second, third]), 'delete of work'],
    [
      'goes at once, if it is a control plane',
      decide(
        3,
        {},
        planes(3).map((one, i) => (i ? one : replacing(one))),
      ),
      'delete of cp',
    ],
    [
      'stays while another control plane is not ready',
      decide(
        3,
        {},
        planes(3).map((one, i) => (i === 0 ? replacing(one) : i === 1 ? unready(one) : one)),
      ),
      'cp-1 is not ready.',
    ],
  ])('%s', (_, decision, expected) => {
    expect(decision).toBe(expected);
  });
});
