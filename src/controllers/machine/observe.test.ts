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
const look = (seen: Observation) =>
  observeMachine({ platform: { observe: () => Promise.resolve(seen) } } as unknown as Workplace, context);

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
