import { beforeEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { NodeMembership } from './node-membership.ts';
import { observeMachine } from './observe-machine.ts';
import type { StepEnvironment } from './step-environment.ts';

const silent = new ProviderError('TALOS_UNREACHABLE');
const running = { stage: 'running', ready: true, unmetConditions: [] };
/** What the node says of itself; undefined when it is silent. */
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
      return status ? Promise.resolve(status) : Promise.reject(silent);
    },
    close: () => Promise.resolve(),
  }),
} as unknown as TalosStepContext;
const look = (seen: Observation, isReady = false, known: Partial<NodeMembership> = {}) =>
  observeMachine({ platform: { observe: () => Promise.resolve(seen) } } as unknown as StepEnvironment, context, {
    isReady: () => Promise.resolve(isReady),
    isKnown: () => true,
    whyNotSeen: () => Promise.resolve(undefined),
    note: (run) => (run === undefined ? {} : { run }),
    ...known,
  });

const off = { reason: 'PoweredOff', message: 'The machine is powered off.' };
const renamed = { reason: 'Renamed', message: 'It was renamed.' };
const suspended = { reason: 'Suspended', message: 'It is suspended.' };

it.each<[Observation, object]>([
  [
    { exists: true, runs: true, drift: [] },
    { drift: [], notJoined: silent.message },
  ],
  [
    { exists: true, runs: false, drift: [off, renamed] },
    { drift: [off, renamed], notJoined: 'The machine is powered off.' },
  ],
  [
    { exists: true, drift: [suspended] },
    { drift: [suspended], notJoined: silent.message },
  ],
  [
    { exists: false, drift: [renamed] },
    { gone: true, drift: [renamed], notJoined: 'It is gone.' },
  ],
])('%j says all that the platform said', async (seen, told) => {
  expect(await look(seen)).toEqual(told);
});

it.each<[string, Observation, object]>([
  [
    'rests by what it was judged by when all is well',
    { exists: true, runs: true, drift: [], trace: 'abc' },
    { drift: [], learned: {}, restsBy: 'abc' },
  ],
  ['does not rest where nobody would tell', { exists: true, runs: true, drift: [] }, { drift: [], learned: {} }],
  [
    'does not rest while anything differs',
    { exists: true, runs: true, drift: [renamed], trace: 'abc' },
    { drift: [renamed], learned: {} },
  ],
  [
    'is off all the same',
    { exists: true, runs: false, drift: [off], trace: 'abc' },
    { drift: [off], notJoined: 'The machine is powered off.' },
  ],
])('one whose node is ready is not asked itself, and %s', async (_, seen, told) => {
  expect(await look(seen, true)).toEqual(told);
  expect(asked).toBe(0);
});

it('does not rest while its cluster does not say that it is ready', async () => {
  expect(await look({ exists: true, runs: true, drift: [], trace: 'abc' })).not.toHaveProperty('restsBy');
});

describe('of a machine that was started since its node was seen', () => {
  const seen: Observation = { exists: true, runs: true, run: '4002', drift: [], trace: 'abc' };
  const other: Partial<NodeMembership> = { isKnown: (run) => run === '4001' };

  it('the word of the cluster is not enough: the node may be booting', async () => {
    expect(await look(seen, true, other)).toEqual({ drift: [], notJoined: silent.message });
  });

  it('neither is that of the node alone', async () => {
    status = running;
    const whyNotSeen = () => Promise.resolve('The node runs, but has not told its cluster of this boot yet.');
    expect(await look(seen, true, { ...other, whyNotSeen })).toEqual({
      drift: [],
      notJoined: 'The node runs, but has not told its cluster of this boot yet.',
    });
  });

  it('both together are, and that is written down', async () => {
    status = running;
    expect(await look(seen, true, other)).toEqual({ drift: [], learned: { run: '4002' }, restsBy: 'abc' });
  });
});

it('a member whose cluster is silent is one by its own word', async () => {
  status = running;
  const whyNotSeen = () => Promise.reject(new Error('nothing is to be seen anew'));
  expect(await look({ exists: true, runs: true, drift: [], trace: 'abc' }, false, { whyNotSeen })).toEqual({
    drift: [],
    learned: {},
  });
});
