import { expect, it } from 'vitest';
import type { Observation } from '../../engine/platform.ts';
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

it.each<[Observation, object]>([
  [{ exists: true, powered: 'on' }, { notJoined: silent.message }],
  [
    { exists: true, powered: 'off' },
    { drift: 'The machine is powered off.', notJoined: 'The machine is powered off.' },
  ],
  [
    { exists: true, powered: 'off', drift: 'It was renamed.' },
    { drift: 'The machine is powered off. It was renamed.', notJoined: 'The machine is powered off.' },
  ],
  [
    { exists: true, drift: 'It is suspended.' },
    { drift: 'It is suspended.', notJoined: silent.message },
  ],
])('%j says all that the platform said', async (seen, told) => {
  expect(await look(seen)).toEqual(told);
});
