import { beforeEach, describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { Condition } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { Platform } from '../../../engine/platform.ts';
import { done, type Facts, returnToStep, type StepOutcome, wait, waitWithReason } from '../../../engine/step.ts';
import { noLog } from '../../../lib/log.ts';
import type { TalosStepContext } from '../../../talos/join-steps.ts';
import { recoverWhileWaiting } from './recover-while-waiting.ts';

let clock: ManualClock;
let machine: Machine;
let controlPlanes: Machine[];
let facts: Facts;
let cuts: number;
let noResponse: StepOutcome;

const minutes = (count: number) => clock.advance(count * 60_000);
const platform = {
  repair: {
    steps: [],
    recover: async () => undefined,
    cutPower: async () => {
      cuts += 1;
      return returnToStep('powered-on', 1, 'It is started again.');
    },
  },
} as unknown as Platform;

/** The node starts again, as after a power cut. */
const begin = () => {
  const progress = { ...machine.status!.progress!, step: 'await-talos-api', since: clock.now().toISOString() };
  machine = { ...machine, status: { ...machine.status!, progress } };
};
const provisioned = (): Condition => ({
  ...{ type: 'Provisioned', status: 'True', reason: 'AsExpected', message: '' },
  lastTransitionTime: clock.now().toISOString(),
});

/** One run of the step. Its facts are recorded as the engine does. */
async function look(name = 'await-talos-api', runs = true): Promise<StepOutcome> {
  const step = recoverWhileWaiting({ name, run: async () => noResponse }, machine, platform, () => controlPlanes);
  const outcome = await step.run({ facts, clock, log: noLog } as unknown as TalosStepContext);
  if (runs && 'facts' in outcome) facts = { ...facts, ...outcome.facts };
  if (outcome.kind === 'back') begin();
  return outcome;
}

beforeEach(() => {
  clock = new ManualClock();
  [machine, controlPlanes, facts, cuts, noResponse] = [aMachine(0), [], {}, 0, wait(3, 'It is silent.')];
  begin();
});

describe('a control plane whose node never answers', () => {
  it('is power-cycled three times, every six minutes, and then reported with its console', async () => {
    await minutes(5.9);
    expect(await look()).toEqual(noResponse);
    for (const times of [1, 2, 3]) {
      await minutes(6);
      expect(await look()).toMatchObject({ kind: 'wait', facts: { powerCycles: times } });
      expect(await look()).toMatchObject({ kind: 'back', to: 'powered-on' });
      expect(cuts).toBe(times);
      const text = times === 1 ? 'once' : `${times} times`;
      expect(await look()).toMatchObject({ message: expect.stringContaining(`power-cycled ${text} because`) });
    }
    await minutes(6);
    const end = { kind: 'wait', reason: 'NodeSilent', message: expect.stringMatching(/Check its console/) };
    expect(await look()).toMatchObject(end);
    await minutes(600);
    expect(await look()).toMatchObject(end);
    expect(cuts).toBe(3);
  });

  it('is not power-cycled once more by a crash after the power was cut', async () => {
    await minutes(6);
    await look();
    await look('await-talos-api', false);
    await minutes(5);
    expect([(await look()).kind, cuts, facts['powerCycles']]).toEqual(['wait', 1, 1]);
  });

  it('is not power-cycled in maintenance, or while it waits for a user', async () => {
    await minutes(60);
    noResponse = waitWithReason('NotAtReservedAddress', 3, 'It may be elsewhere.');
    expect(await look()).toEqual(noResponse);
    noResponse = wait(3, 'It is silent.');
    machine = { ...machine, metadata: { ...machine.metadata, annotations: { [annotations.maintenance]: 'true' } } };
    expect(await look()).toEqual(noResponse);
    expect([cuts, facts]).toEqual([0, {}]);
  });

  it('is not power-cycled after its first answer, however long it takes', async () => {
    await minutes(60);
    expect(await look('await-installation')).toEqual(noResponse);
    noResponse = done();
    expect(await look()).toEqual(noResponse);
    expect([cuts, facts]).toEqual([0, {}]);
  });
});

describe('a worker', () => {
  beforeEach(() => {
    machine = aMachine(0, [], 'work');
    begin();
  });

  it('cannot answer before a control plane, and is not power-cycled until then', async () => {
    controlPlanes = [aMachine(0), aMachine(1, [{ ...provisioned(), status: 'False' }])];
    await minutes(60);
    expect(await look()).toEqual(noResponse);
  });

  it('is power-cycled six minutes after that', async () => {
    await minutes(60);
    controlPlanes = [aMachine(0, [provisioned()])];
    await minutes(5);
    expect(await look()).toEqual(noResponse);
    await minutes(1);
    await look();
    expect(await look()).toMatchObject({ kind: 'back' });
    await minutes(5);
    expect(await look()).not.toHaveProperty('facts');
    expect(cuts).toBe(1);
  });
});
