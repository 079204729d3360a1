import { expect, it } from 'vitest';
import type { Observation } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import type { Workplace } from './context.ts';
import { observeMachine } from './observe.ts';

const silent = new ProviderError('TALOS_UNREACHABLE');
const context = {
  facts: { address: '192.0.2.1' },
  openTalos: () => ({ machineStatus: () => Promise.reject(silent), close: () => Promise.resolve() }),
} as unknown as TalosStepContext;
const look = (seen: Observation, isReady = false) =>
  observeMachine({ platform: { observe: () => Promise.resolve(seen) } } as unknown as Workplace, context, () =>
    Promise.resolve(isReady),
  );

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
    { drift: [], restsBy: 'abc' },
  ],
  ['does not rest where nobody would tell', { exists: true, runs: true, drift: [] }, { drift: [] }],
  [
    'does not rest while anything differs',
    { exists: true, runs: true, drift: [renamed], trace: 'abc' },
    { drift: [renamed] },
  ],
  [
    'is off all the same',
    { exists: true, runs: false, drift: [off], trace: 'abc' },
    { drift: [off], notJoined: 'The machine is powered off.' },
  ],
])('one whose node is ready is not asked itself, and %s', async (_, seen, told) => {
  expect(await look(seen, true)).toEqual(told);
});

it('does not rest while its cluster does not say that it is ready', async () => {
  expect(await look({ exists: true, runs: true, drift: [], trace: 'abc' })).not.toHaveProperty('restsBy');
});
