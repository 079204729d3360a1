import { describe, expect, it } from 'vitest';
import type { Machine, RemediationRequest } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { RemediationSchema } from '../../api/schema/remediation-schema.ts';
import { decideRemediation, type RemediationDecision, type RemediationView } from './decide-remediation.ts';

const now = new Date('2026-11-26T12:00:00Z');
const ago = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();

interface MachineCase {
  /** Minutes for which the node is unhealthy; undefined: it is healthy. */
  readonly ill?: number;
  readonly unknown?: true;
  readonly lost?: true;
  readonly request?: RemediationRequest;
  readonly marks?: Record<string, string>;
  readonly leaving?: true;
  readonly updating?: true;
  readonly pool?: string;
}

function machine(name: string, role: 'controlplane' | 'worker', state: MachineCase): Machine {
  const { ill, unknown, lost, request, marks = {}, leaving, updating, pool } = state;
  const status = unknown ? 'Unknown' : ill === undefined ? 'True' : 'False';
  const reason = lost ? 'MachineLost' : 'NodeUnreachable';
  return {
    metadata: { name, annotations: marks, ...(leaving && { deletionTimestamp: ago(1) }) },
    spec: {
      role,
      pool: pool ?? (role === 'worker' ? 'work' : 'cp'),
      ...(request && { remediation: request }),
      ...(updating && { revision: 'next' }),
    },
    status: {
      conditions: [
        { type: 'NodeHealthy', status, reason, message: 'It is silent.', lastTransitionTime: ago(ill ?? 0) },
      ],
      progress: { plan: 'provision', step: '', finishedAt: ago(1000), facts: {} },
      ...(updating && { pending: { revision: 'next', class: 'restart', fields: [] } }),
    },
  } as unknown as Machine;
}

const restartOf = (minutes: number, attempt = 1): RemediationRequest => ({
  action: 'Restart',
  attempt,
  requestedAt: ago(minutes),
});
const replaceOf = (minutes: number): RemediationRequest => ({ ...restartOf(minutes), action: 'Replace' });
const recordOf = (name: string, action: 'Restart' | 'Replace', minutes: number) => ({
  ...{ machine: name, pool: 'work', action, at: ago(minutes) },
});

type Case = Partial<Omit<RemediationView, 'machines' | 'policy'>> & {
  readonly workers?: readonly MachineCase[];
  readonly controlPlanes?: readonly MachineCase[];
  readonly policy?: object;
};

function decide({ workers = [{}, {}, {}], controlPlanes = [{}], policy = {}, ...more }: Case): RemediationDecision {
  const machines = [
    ...controlPlanes.map((state, i) => machine(`cp-${i}`, 'controlplane', state)),
    ...workers.map((state, i) => machine(`w-${i}`, 'worker', state)),
  ];
  const requested = machines.flatMap(({ metadata, spec: { remediation: one, pool } }) =>
    one ? [{ machine: metadata.name, pool, action: one.action, at: one.requestedAt }] : [],
  );
  const { records = [] } = more;
  return decideRemediation({
    pools: [
      { pool: 'cp', replicas: controlPlanes.length },
      { pool: 'work', replicas: workers.length },
    ],
    ...{ endpointMachine: undefined, restartAttempts: 1, isReachable: true, isTrustPending: false, missing: [] },
    ...{ siteProblems: new Map(), now },
    ...more,
    machines,
    records: [...records, ...requested],
    policy: RemediationSchema.parse(policy),
  });
}

/** What is decided, in a few words. */
function inShort(decision: RemediationDecision): string {
  switch (decision.kind) {
    case 'none':
      return 'none';
    case 'act':
      return `${decision.action} ${decision.attempt} ${decision.machine.metadata.name}`;
    case 'withdraw':
      return `withdraw ${decision.machine.metadata.name}`;
    default: {
      const until = decision.kind === 'wait' && decision.until;
      return `${decision.kind}${until ? ` ${(until.getTime() - now.getTime()) / 60_000}` : ''}: ${decision.message}`;
    }
  }
}

const replace = { strategy: 'Replace' };
const waiting = (workers: readonly MachineCase[], more: Case = {}) => inShort(decide({ workers, ...more }));

describe('D41: a node', () => {
  it.each<[string, MachineCase[], RegExp]>([
    ['that is healthy needs nothing', [{}, {}], /^none$/],
    ['of which nothing is known needs nothing', [{ unknown: true }], /^none$/],
    [
      'is unhealthy after five minutes',
      [{ ill: 4 }, {}],
      /^wait 1: w-0: It is silent\. It has not been ready since .*It is restarted at .* unless it is ready by then\.$/,
    ],
    ['is restarted then', [{ ill: 5 }, {}], /^Restart 1 w-0$/],
    ['that is being deleted needs nothing', [{ ill: 60, leaving: true }, {}], /^none$/],
    ['that a rollout changes is a matter of the rollout', [{ ill: 60, updating: true }, {}], /^none$/],
    ['that has recovered needs its request no more', [{ request: restartOf(9) }, {}], /^withdraw w-0$/],
  ])('%s', (_, workers, expected) => expect(waiting(workers)).toMatch(expected));
});

describe('D44: the ladder', () => {
  it.each<[string, Case, RegExp]>([
    [
      'gives a restarted node time to come back',
      { workers: [{ ill: 20, request: restartOf(11) }] },
      /^wait 1: w-0 is being/,
    ],
    [
      'withdraws a restart that did not help, so that other work may go on',
      { workers: [{ ill: 20, request: restartOf(13) }] },
      /^withdraw w-0$/,
    ],
    [
      'withdraws a restart of which the clock, set back since, says that it is to come',
      { workers: [{ ill: 6, request: restartOf(-300) }] },
      /^withdraw w-0$/,
    ],
    [
      'does not pause for a replacement of which the clock says that it is to come',
      { workers: [{ ill: 20 }], records: [recordOf('w-1', 'Replace', -300)], restartAttempts: 0, policy: replace },
      /^Replace 1 w-0$/,
    ],
    [
      'does not begin anew while the failure lasts',
      { workers: [{ ill: 600 }], records: [recordOf('w-0', 'Restart', 605)] },
      /^stop: .*Restarts did not help/,
    ],
    [
      'ends after the restart by default',
      { workers: [{ ill: 20 }], records: [recordOf('w-0', 'Restart', 13)] },
      /^stop: w-0: It is silent\. Restarts did not help\. .*Delete the Machine/,
    ],
    [
      'goes on to a replacement',
      { workers: [{ ill: 20, request: restartOf(13) }], policy: replace },
      /^Replace 1 w-0$/,
    ],
    [
      'restarts as often as the platform says',
      { workers: [{ ill: 20, request: restartOf(13) }], restartAttempts: 2 },
      /^Restart 2 w-0$/,
    ],
    [
      'leaves out restarts that a platform cannot do',
      { workers: [{ ill: 20 }], restartAttempts: 0 },
      /^stop: .*cannot restart it/,
    ],
    [
      'leaves out restarts of a machine that is lost',
      { workers: [{ ill: 20, lost: true }], policy: replace },
      /^Replace 1 w-0$/,
    ],
    [
      'begins anew for a failure an hour later',
      { workers: [{ ill: 6 }], records: [recordOf('w-0', 'Restart', 70)] },
      /^Restart 1 w-0$/,
    ],
    [
      'counts a failure right after a recovery as the same',
      { workers: [{ ill: 6 }], records: [recordOf('w-0', 'Restart', 50)], policy: replace },
      /^Replace 1 w-0$/,
    ],
    [
      'waits for a replacement',
      { workers: [{ ill: 200, request: replaceOf(100) }], policy: replace },
      /^wait.*: w-0 is being replaced/,
    ],
    [
      'is switched off by one field',
      { workers: [{ ill: 20 }], policy: { strategy: 'None' } },
      /^stop: .*strategy is None/,
    ],
  ])('%s', (_, given, expected) => expect(inShort(decide(given))).toMatch(expected));
});

describe('D42: no remediation', () => {
  const two = [{ ill: 9 }, { ill: 8 }];
  it.each<[string, Case, RegExp]>([
    [
      'when more nodes of a pool are unhealthy than may be',
      { workers: [...two, {}] },
      /^wait: w-0: .* 2 of 3 nodes of the pool work are unhealthy, more than the 1/,
    ],
    [
      'while nodes of another cluster in the same place fail',
      {
        workers: [{ ill: 9 }, {}],
        siteProblems: new Map([['w-0', { message: 'There, too.', restartAt: new Date(now.getTime() + 600_000) }]]),
      },
      /^wait 10: w-0: It is silent\. There, too\./,
    ],
  ])('%s', (_, given, expected) => expect(inShort(decide(given))).toMatch(expected));

  it('but with five nodes two may be unhealthy', () => expect(waiting([...two, {}, {}, {}])).toBe('Restart 1 w-0'));

  it('a restart is tried after a while nevertheless, a replacement is not', () => {
    const siteProblems = new Map([['w-0', { message: 'There, too.', restartAt: now }]]);
    expect(waiting([{ ill: 30 }, {}], { siteProblems })).toBe('Restart 1 w-0');
    expect(waiting([{ ill: 30, lost: true }, {}], { siteProblems, policy: replace })).toMatch(/^wait: .*There, too/);
  });
});

describe('D43, D47: no remediation', () => {
  it.each<[string, Case, RegExp]>([
    ['without the API server', { isReachable: false }, /API server does not answer/],
    ['while OIDC issuers change', { isTrustPending: true }, /OIDC issuers/],
    ['during an update', { workers: [{ ill: 9 }, { updating: true }] }, /w-1 is being updated/],
    [
      'beside another one',
      { workers: [{ ill: 9 }, { ill: 20, request: restartOf(2) }, {}, {}, {}] },
      /w-1 is being restarted/,
    ],
  ])('%s', (_, given, expected) =>
    expect(inShort(decide({ workers: [{ ill: 9 }, {}], ...given }))).toMatch(new RegExp(`^wait.*${expected.source}`)),
  );

  it.each<[string, Case, RegExp]>([
    [
      'while one is deleted',
      { workers: [{ ill: 90, lost: true }, { leaving: true }] },
      /^wait: .*w-1 is being deleted/,
    ],
    [
      'while one is missing',
      { workers: [{ ill: 90, lost: true }], missing: ['w-7'] },
      /^wait: .*w-7 does not exist yet/,
    ],
  ])('by replacement %s', (_, given, expected) =>
    expect(inShort(decide({ policy: replace, ...given }))).toMatch(expected),
  );

  it('but workers are restarted while a replacement waits for hardware', () =>
    expect(waiting([{ ill: 9 }, { ill: 99, request: replaceOf(80) }, {}, {}, {}])).toBe('Restart 1 w-0'));
});

describe('a control plane', () => {
  const planes = (controlPlanes: MachineCase[], more: Case = {}) => inShort(decide({ controlPlanes, ...more }));

  it('is restarted with a quorum of healthy others', () => {
    expect(planes([{ ill: 9 }, {}, {}])).toBe('Restart 1 cp-0');
    expect(planes([{ ill: 9 }, { ill: 8 }, {}, {}, {}], { policy: { maxUnhealthyPercent: 40 } })).toBe(
      'Restart 1 cp-0',
    );
  });

  it('is left alone without it', () => {
    expect(planes([{ ill: 9 }, { unknown: true }, {}])).toMatch(/^wait: .*Only 1 other control planes are healthy/);
    expect(planes([{ ill: 9 }])).toMatch(/^stop: .*only control plane/);
  });

  it('is not replaced if its address is the endpoint', () =>
    expect(planes([{ ill: 9, lost: true }, {}, {}], { policy: replace, endpointMachine: 'cp-0' })).toMatch(
      /^stop: .*endpoint/,
    ));
});

describe('D45: a storm', () => {
  const lost: Case = { workers: [{ ill: 90, lost: true }, {}], policy: replace };
  const replaced = (...minutes: number[]) => minutes.map((one, i) => recordOf(`w-${i}`, 'Replace', one));

  it('is slowed down by growing pauses', () => {
    expect(inShort(decide({ ...lost, records: replaced(10) }))).toMatch(/^wait 5: .*w-0 of the pool work was replaced/);
    expect(inShort(decide({ ...lost, records: replaced(16) }))).toBe('Replace 1 w-0');
    expect(inShort(decide({ ...lost, records: replaced(60, 16) }))).toMatch(/^wait 14: /);
  });

  it('ends after three replacements of a pool within a day', () =>
    expect(inShort(decide({ ...lost, records: replaced(900, 600, 300) }))).toMatch(
      /^stop: .*3 machines of the pool work/,
    ));

  it('of restarts ends after three of a machine within a day', () => {
    const records = [300, 200, 100].map((minutes) => recordOf('w-0', 'Restart', minutes));
    expect(waiting([{ ill: 6 }], { records })).toMatch(/^stop: .*Restarts did not help/);
  });
});

describe('D48: the annotation', () => {
  const asked = (value: string) => ({ marks: { [annotations.remediate]: value } });

  it('remediate needs neither time nor limits', () => {
    expect(waiting([{ ill: 1, ...asked('restart') }, { ill: 1 }])).toBe('Restart 1 w-0');
    expect(waiting([{ ill: 1, ...asked('replace') }], { policy: { strategy: 'None' } })).toBe('Replace 1 w-0');
    expect(waiting([{ ill: 1, ...asked('other') }])).toMatch(/^wait 4/);
  });

  it('remediate does not break the quorum', () =>
    expect(inShort(decide({ controlPlanes: [{ ill: 1, ...asked('restart') }, { ill: 1 }, {}] }))).toMatch(
      /^wait 4: cp-0: .*etcd needs 2/,
    ));

  it('maintenance leaves a node alone', () =>
    expect(waiting([{ ill: 90, marks: { [annotations.maintenance]: 'true' } }])).toMatch(/^stop: .*maintenance/));
});
