import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { AdvanceResult } from '../../../engine/advance.ts';
import type { Services } from '../../shared/services.ts';
import type { MachineObservation } from '../observe-machine.ts';
import { approvalsOf } from './approvals.ts';
import { concludeRepair } from './conclude-repair.ts';

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

const conclude = (
  observation: MachineObservation,
  { machine = missed(undefined), repair = undefined as AdvanceResult | undefined, isMonitored = false } = {},
) =>
  concludeRepair(
    { services, machine, signal, monitor: () => isMonitored },
    { progress, observation, approvals: approvalsOf(machine), repair },
  );

describe('a node that is not a member', () => {
  it.each([
    ['at once', undefined, 3],
    ['soon', 20, 3],
    ['less often the longer it is missing', 200, 20],
    ['at the usual interval', 4000, 45],
  ])('is checked again %s', async (_, since, seconds) => {
    const observation = { drift: [], notJoined: 'It is silent.', unchangedFingerprint: 'same' };
    const { seconds: wait } = await conclude(observation, { machine: missed(since), isMonitored: true });
    expect(wait).toBe(seconds);
  });
});

it.each([
  ['that is monitored is due an hour later', true, 3600],
  ['whose platform cannot monitor it is due at the usual interval', false, 45],
])('a machine that is as it was created %s', async (_, isMonitored, seconds) => {
  expect(await conclude({ drift: [], unchangedFingerprint: 'same' }, { isMonitored })).toMatchObject({ seconds });
});

it('the facts of the node are recorded beside those of its platform', async () => {
  expect(await conclude({ drift: [], facts: { memberInRun: '8' } })).toMatchObject({
    seconds: 45,
    verdict: { progress: { facts: { vm: 7, memberInRun: '8' } } },
  });
});

describe('a repair', () => {
  const off = {
    ...{ reason: 'PoweredOff', message: 'It is off.' },
    repair: { mode: 'automatic', effect: 'it is started' },
  } as const;
  const finished: AdvanceResult = { kind: 'finished', progress: { ...progress, plan: 'repair' } };

  it('is reported with its outcome', async () => {
    const concluded = await conclude({ drift: [], notJoined: 'It boots.' }, { repair: finished });
    expect([concluded.observation.notJoined, concluded.seconds]).toEqual(['It boots.', 3]);
    expect(concluded.verdict.progress).toMatchObject({ plan: 'provision', step: '' });
  });

  it('that has left drift is tried again soon', async () => {
    expect(await conclude({ drift: [off] }, { repair: finished })).toMatchObject({
      seconds: 15,
      observation: { drift: [{ message: 'It is off. Automatically it is started.' }] },
    });
  });

  it('that is not finished is reported with its step', async () => {
    const waiting = { kind: 'waiting', progress: { ...progress, plan: 'repair' }, seconds: 100, message: 'It stops.' };
    const concluded = await conclude({ drift: [off] }, { repair: waiting as AdvanceResult });
    expect(concluded).toMatchObject({ verdict: waiting, seconds: 45 });
  });
});
