import { beforeEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { NodeMembership } from './node-membership.ts';
import { observeMachine } from './observe-machine.ts';
import type { StepEnvironment } from './step-environment.ts';

const unresponsive = new ProviderError('TALOS_UNREACHABLE');
const running = { stage: 'running', ready: true, unmetConditions: [] };
/** The status that the node reports; undefined while it does not answer. */
let status: object | undefined;
let asked = 0;
beforeEach(() => {
  [status, asked] = [undefined, 0];
});
const context = {
  facts: { address: '192.0.2.1' },
  openTalos: () => ({
    machineStatus: () => {
      asked += 1;
      return status ? Promise.resolve(status) : Promise.reject(unresponsive);
    },
    close: () => Promise.resolve(),
  }),
} as unknown as TalosStepContext;
const observe = (seen: Observation, isReady = false, known: Partial<NodeMembership> = {}) =>
  observeMachine({ platform: { observe: () => Promise.resolve(seen) } } as unknown as StepEnvironment, context, {
    isReady: () => Promise.resolve(isReady),
    isKnown: () => true,
    isClusterObserved: () => true,
    whyNotObserved: () => Promise.resolve(undefined),
    record: (run) => (run === undefined ? {} : { run }),
    ...known,
  });
/** Without the condition of the node, which has tests of its own. */
async function read(...input: Parameters<typeof observe>): Promise<object> {
  const { nodeHealth: _, ...observation } = await observe(...input);
  return observation;
}

const off = { reason: 'PoweredOff', message: 'The machine is powered off.' };
const renamed = { reason: 'Renamed', message: 'It was renamed.' };
const suspended = { reason: 'Suspended', message: 'It is suspended.' };

it.each<[Observation, object]>([
  [
    { exists: true, runs: true, drift: [] },
    { drift: [], notJoined: unresponsive.message },
  ],
  [
    { exists: true, runs: false, drift: [off, renamed] },
    { drift: [off, renamed], notJoined: 'The machine is powered off.' },
  ],
  [
    { exists: true, drift: [suspended] },
    { drift: [suspended], notJoined: unresponsive.message },
  ],
  [
    { exists: false, drift: [renamed] },
    { isGone: true, drift: [renamed], notJoined: 'It is gone.' },
  ],
])('%j includes all drift of the platform', async (seen, reported) => {
  expect(await read(seen)).toEqual(reported);
});

it.each<[string, Observation, object]>([
  [
    'it is idle with the fingerprint if all is well',
    { exists: true, runs: true, drift: [], fingerprint: 'abc' },
    { drift: [], facts: {}, unchangedFingerprint: 'abc' },
  ],
  [
    'it is not idle if its platform reports no fingerprint',
    { exists: true, runs: true, drift: [] },
    { drift: [], facts: {} },
  ],
  [
    'it is not idle while there is drift',
    { exists: true, runs: true, drift: [renamed], fingerprint: 'abc' },
    { drift: [renamed], facts: {} },
  ],
  [
    'it is off all the same',
    { exists: true, runs: false, drift: [off], fingerprint: 'abc' },
    { drift: [off], notJoined: 'The machine is powered off.' },
  ],
])('a Ready node is not asked itself, and %s', async (_, seen, reported) => {
  expect(await read(seen, true)).toEqual(reported);
  expect(asked).toBe(0);
});

it('is not idle while its cluster does not report it as Ready', async () => {
  expect(await read({ exists: true, runs: true, drift: [], fingerprint: 'abc' })).not.toHaveProperty('restsBy');
});

describe('for a machine that was restarted since the last observation of its node', () => {
  const seen: Observation = { exists: true, runs: true, run: '4002', drift: [], fingerprint: 'abc' };
  const other: Partial<NodeMembership> = { isKnown: (run) => run === '4001' };

  it('the Ready condition in the cluster is not sufficient: the node may be booting', async () => {
    expect(await read(seen, true, other)).toEqual({ drift: [], notJoined: unresponsive.message });
  });

  it('the status of the node alone is not sufficient', async () => {
    status = running;
    const whyNotSeen = () => Promise.resolve('The node runs, but has not told its cluster of this boot yet.');
    expect(await read(seen, true, { ...other, whyNotObserved: whyNotSeen })).toEqual({
      drift: [],
      notJoined: 'The node runs, but has not told its cluster of this boot yet.',
    });
  });

  it('both together are sufficient and recorded', async () => {
    status = running;
    expect(await read(seen, true, other)).toEqual({ drift: [], facts: { run: '4002' }, unchangedFingerprint: 'abc' });
  });
});

it('the status of the node is sufficient for a known member whose cluster does not answer', async () => {
  status = running;
  const whyNotSeen = () => Promise.reject(new Error('nothing is to be seen anew'));
  expect(
    await read({ exists: true, runs: true, drift: [], fingerprint: 'abc' }, false, { whyNotObserved: whyNotSeen }),
  ).toEqual({
    drift: [],
    facts: {},
  });
});

describe('the condition NodeHealthy', () => {
  const booting = { stage: 'booting', ready: false, unmetConditions: [] };
  const on: Observation = { exists: true, runs: true, drift: [] };
  const minor = { ...renamed, isMinor: true as const };

  it.each<[string, object | undefined, Parameters<typeof observe>, string]>([
    ['is True for a Node that is Ready', undefined, [on, true], 'True AsExpected'],
    ['is True with minor drift', undefined, [{ ...on, drift: [minor] }, true], 'True AsExpected'],
    ['is False for a node that does not answer', undefined, [on], 'False NodeUnreachable'],
    ['is False with minor drift', undefined, [{ ...on, drift: [minor] }], 'False NodeUnreachable'],
    ['is False for a node that boots', booting, [on], 'False NodeNotReady'],
    ['is False for a node that works and is missed', running, [on], 'False NodeNotReady'],
    ['is False for a lost machine', undefined, [{ ...on, exists: false, isLost: true }], 'False MachineLost'],
    [
      'is Unknown without the cluster',
      undefined,
      [on, false, { isClusterObserved: () => false }],
      'Unknown NodeNotObserved',
    ],
    ['is Unknown for a machine that is off', undefined, [{ ...on, runs: false }], 'Unknown NodeNotObserved'],
    ['is Unknown with another machine', undefined, [{ ...on, drift: [suspended] }], 'Unknown NodeNotObserved'],
    ['is Unknown for a machine that is gone', undefined, [{ ...on, exists: false }], 'Unknown NodeNotObserved'],
  ])('%s', async (_, answer, input, expected) => {
    status = answer;
    const { nodeHealth } = await observe(...input);
    expect(`${nodeHealth?.status} ${nodeHealth?.reason}`).toBe(expected);
  });
});
