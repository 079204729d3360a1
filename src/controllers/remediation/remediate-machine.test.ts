import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { MachineObservation } from '../machine/observe-machine.ts';
import type { Services } from '../shared/services.ts';
import { type RemediationActions, remediateMachine } from './remediate-machine.ts';

const clock = new ManualClock();
const services = { clock } as unknown as Services;
const signal = AbortSignal.timeout(5000);
/** A machine whose node has been missing for `seconds`; undefined: it is a member. */
const missed = (seconds: number | undefined) =>
  aMachine(
    0,
    seconds === undefined
      ? []
      : [
          {
            ...{ type: 'Joined', status: 'False', reason: 'StepWaiting', message: '' },
            lastTransitionTime: new Date(clock.now().getTime() - seconds * 1000).toISOString(),
          },
        ],
  );
const progress = { plan: 'provision', step: '', since: '', failures: 0, finishedAt: 'then', facts: { vm: 7 } } as const;

describe('a node that is not a member', () => {
  it.each([
    ['at once', undefined, 3],
    ['soon', 20, 3],
    ['less often the longer it is missing', 200, 20],
    ['at the usual interval', 4000, 45],
  ])('is checked again %s', async (_, since, seconds) => {
    const read = (): Promise<MachineObservation> => Promise.resolve({ drift: [], notJoined: 'It is silent.' });
    const kept = await remediateMachine(services, missed(since), progress, {
      signal,
      observe: read,
      finish: () => true,
    });
    expect(kept.seconds).toBe(seconds);
  });
});

it('the facts of the node are recorded beside those of its platform', async () => {
  const read = (): Promise<MachineObservation> => Promise.resolve({ drift: [], facts: { memberInRun: '8' } });
  const kept = await remediateMachine(services, missed(undefined), progress, {
    signal,
    observe: read,
    finish: () => false,
  });
  expect(kept).toMatchObject({
    seconds: 45,
    repaired: [],
    observation: { progress: { facts: { vm: 7, memberInRun: '8' } } },
  });
});

it('a repair is reported with its outcome', async () => {
  const off = {
    reason: 'PoweredOff',
    message: 'It is off.',
    repair: { mode: 'automatic', effect: 'it is started' },
  } as const;
  const renamed = { reason: 'Renamed', message: 'It was renamed.', isMinor: true } as const;
  const seen: MachineObservation[] = [
    { drift: [off, renamed], notJoined: 'It is off.' },
    { drift: [], notJoined: 'It boots.' },
  ];
  const finished: AdvanceResult = { kind: 'finished', progress: { ...progress, plan: 'repair' } };
  const actions: RemediationActions = {
    ...{ signal, finish: () => false, observe: () => Promise.resolve(seen.shift()!) },
    repair: () => Promise.resolve(finished),
  };
  const kept = await remediateMachine(services, missed(undefined), progress, actions);
  expect(kept.repaired).toEqual([{ ...off, message: 'It is off. Automatically it is started.' }]);
  expect([kept.observed.notJoined, kept.seconds]).toEqual(['It boots.', 3]);
});
