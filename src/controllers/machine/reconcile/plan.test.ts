import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { annotations } from '../../../api/names.ts';
import type { AdvanceResult, Progress } from '../../../engine/advance.ts';
import type { ChangeClass } from '../../../engine/change-class.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { approvalsOf } from '../repair/approvals.ts';
import type { DesiredMachine } from './desired.ts';
import type { MachineWalk, ObservedMachine } from './observed.ts';
import { planMachine } from './plan.ts';

const environment = { platform: { repair: { steps: [] } } };
const missingSecret = new ProviderError('CREDENTIALS_MISSING', 'No Secret.');
const missingConfig = new ProviderError('PROVIDER_CONFIG_MISSING', 'No ProviderConfig.');
const base = { step: 'disk-created', since: '', failures: 0, facts: {} };
const unfinished: Progress = { ...base, plan: 'provision' };
const provisioned: Progress = { ...unfinished, step: '', finishedAt: 'then' };
const waiting: AdvanceResult = {
  kind: 'waiting',
  progress: unfinished,
  seconds: 5,
  message: 'It boots.',
  overdue: false,
};
const finished: AdvanceResult = { kind: 'finished', progress: provisioned };
const off = {
  ...{ reason: 'PoweredOff', message: 'It is off.' },
  repair: { mode: 'automatic', effect: 'it is started' },
} as const;
const walk = (plan: MachineWalk['plan'], result: AdvanceResult): MachineWalk => ({ plan, result, startedFor: [] });

interface Case
  extends Partial<Omit<ObservedMachine, 'approvals'>>,
    Partial<Pick<DesiredMachine, 'goal' | 'isRestoring'>> {
  readonly environment?: unknown;
  readonly annotations?: Record<string, string>;
  /** Of the spec. */
  readonly revision?: string | undefined;
}

function plan({ goal = 'provision', environment: found = environment, ...more }: Case) {
  const { annotations = {}, revision, isRestoring = false, ...observed } = more;
  const made = aMachine();
  const spec = { ...made.spec, ...(revision === undefined ? {} : { revision }) };
  const machine = { ...made, metadata: { ...made.metadata, annotations }, spec };
  const desired = {
    goal,
    machine,
    environment: found,
    isRestoring,
    services: { platforms: [] },
  } as unknown as DesiredMachine;
  return planMachine(desired, { progress: undefined, approvals: approvalsOf(machine), ...observed });
}

describe('a Machine to provision', () => {
  it.each<[string, Case, object]>([
    ['is provisioned', {}, { kind: 'walk', plan: 'provision' }],
    ['goes on where it stopped', { progress: unfinished }, { kind: 'walk', plan: 'provision' }],
    ['waits as its steps do', { progress: unfinished, walk: walk('provision', waiting) }, { kind: 'unfinished' }],
    ['waits for its configuration', { blocker: missingSecret }, { kind: 'blocked', problem: missingSecret }],
    ['waits for its platform', { environment: missingSecret }, { kind: 'blocked', problem: missingSecret }],
  ])('%s', (_, state, expected) => {
    expect(plan(state)).toMatchObject(expected);
  });

  it('is provisioned when its steps are finished', () => {
    const state = { progress: provisioned, observation: { drift: [] }, walk: walk('provision', finished) };
    expect(plan(state)).toEqual({ kind: 'provisioned', progress: provisioned, observation: { drift: [] } });
  });

  it('is not walked again after finished steps that have left it unprovisioned', () => {
    expect(() => plan({ progress: unfinished, walk: walk('provision', finished) })).toThrow('not provisioned');
  });
});

describe('a provisioned Machine', () => {
  const state = { progress: provisioned, observation: { drift: [off] } };

  it('is repaired, also right after it was provisioned', () => {
    const drift = [{ ...off, message: 'It is off. Automatically it is started.' }];
    expect(plan(state)).toMatchObject({ kind: 'walk', plan: 'repair', drift });
    expect(plan({ ...state, walk: walk('provision', finished) })).toMatchObject({ plan: 'repair' });
  });

  it.each<[string, Case]>([
    ['without drift', { observation: { drift: [] } }],
    ['that was repaired in this reconcile', { walk: walk('repair', finished) }],
    ['whose repair waits', { walk: walk('repair', waiting) }],
    ['in maintenance', { annotations: { [annotations.maintenance]: 'true' } }],
    ['whose platform repairs nothing', { environment: { platform: {} } }],
    ['whose platform credentials are missing', { environment: missingSecret }],
  ])('%s is reported as it is', (_, change) => {
    expect(plan({ ...state, ...change }).kind).toBe('provisioned');
  });

  it('continues a repair that was interrupted', () => {
    expect(plan({ ...state, progress: { ...unfinished, plan: 'repair' } })).toMatchObject({ plan: 'repair' });
  });
});

describe('a Machine whose node differs from its desired state', () => {
  const change = { field: 'machine.time', class: 'live' } as const;
  const running = { talosVersion: '1.13.7' };
  const configuration = { spec: 'spec', revision: 'new', running, changes: [change] };
  const desiredNode = {
    ...{ configuration: new SecretString(''), revision: 'new', talosVersion: '1.13.9', kubernetesVersion: '1.35.4' },
    ...{ providerId: 'any://a', schematic: 'a', installer: 'factory.example.org/nocloud-installer/a:v1.13.9' },
  };
  const differs = { progress: provisioned, observation: { drift: [], configuration, desiredNode }, revision: 'new' };
  const withClass = (name: ChangeClass) => ({
    observation: { ...differs.observation, configuration: { ...configuration, changes: [{ ...change, class: name }] } },
  });
  const interrupted: Progress = { ...unfinished, plan: 'update' };
  const open: Progress = { ...provisioned, facts: { updateRevision: 'former' } };

  it.each(['live', 'kubernetes', 'restart', 'os'] as const)('is updated by its steps: %s', (name) => {
    expect(plan({ ...differs, ...withClass(name) })).toMatchObject({
      ...{ kind: 'walk', plan: 'update', desiredNode: { revision: 'new' } },
    });
  });

  it('is not updated while etcd of its cluster is restored, but repaired', () => {
    expect(plan({ ...differs, isRestoring: true }).kind).toBe('provisioned');
    const observation = { ...differs.observation, drift: [off] };
    expect(plan({ ...differs, observation, isRestoring: true })).toMatchObject({ plan: 'repair' });
  });

  it('is not released while etcd of its cluster is restored', () => {
    expect(plan({ goal: 'release' })).toMatchObject({ kind: 'walk', plan: 'release' });
    const blocked = { kind: 'blocked', problem: { code: 'CLUSTER_RESTORING' } };
    expect(plan({ goal: 'release', isRestoring: true })).toMatchObject(blocked);
  });

  it('is repaired first', () => {
    const observation = { ...differs.observation, drift: [off] };
    expect(plan({ ...differs, observation })).toMatchObject({ plan: 'repair' });
  });

  it.each<[string, Case]>([
    ['was interrupted', { progress: interrupted }],
    ['was interrupted by a repair', { progress: open }],
    ['has restarted its node', { progress: interrupted, observation: { drift: [], desiredNode, notJoined: 'away' } }],
    ['leads to another state by now', { progress: interrupted, revision: 'old' }],
  ])('continues an update that %s', (_, state) => {
    const observation = { drift: [], desiredNode };
    expect(plan({ ...differs, observation, ...state })).toMatchObject({ plan: 'update' });
  });

  it('keeps an update in hand that cannot go on', () => {
    const observation = { drift: [], updateObstacle: 'The ProviderConfig is not accepted.' };
    const held = { kind: 'unfinished', result: { kind: 'waiting', message: observation.updateObstacle } };
    expect(plan({ ...differs, observation, progress: interrupted })).toMatchObject(held);
    const result = { progress: { plan: 'update' } };
    expect(plan({ ...differs, observation, progress: open })).toMatchObject({ ...held, result });
    expect(plan({ ...differs, observation, progress: provisioned }).kind).toBe('provisioned');
  });

  it.each<[string, Case]>([
    ['that is not released', { revision: undefined }],
    ['while another one is released', { revision: 'old' }],
    ['whose update waits', { walk: walk('update', waiting) }],
    ['that could not be compared', { observation: { drift: [] } }],
    ['that needs another machine', withClass('replace')],
    ['whose change is refused', withClass('refused')],
    [
      'whose node rejects its configuration',
      { observation: { ...differs.observation, configuration: { ...configuration, rejection: 'No.' } } },
    ],
  ])('%s is left as it is', (_, state) => {
    expect(plan({ ...differs, ...state }).kind).toBe('provisioned');
  });
});

describe('a Machine to release', () => {
  it.each<[string, Case, object]>([
    ['is released', { progress: provisioned }, { kind: 'walk', plan: 'release' }],
    ['waits as its steps do', { walk: walk('release', waiting) }, { kind: 'unfinished', result: waiting }],
    ['is done when its steps are', { walk: walk('release', finished) }, { kind: 'released' }],
    ['waits for its platform', { environment: missingSecret }, { kind: 'blocked', problem: missingSecret }],
    [
      'is abandoned with its lost failure domain',
      { environment: missingConfig, annotations: { [annotations.failureDomainLost]: 'true' } },
      { kind: 'abandoned' },
    ],
  ])('%s', (_, state, expected) => {
    expect(plan({ goal: 'release', ...state })).toMatchObject(expected);
  });
});
