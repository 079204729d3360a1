import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import { annotations } from '../../api/names.ts';
import type { StepContext } from '../../engine/contexts.ts';
import type { Platform } from '../../engine/platform.ts';
import { done, fail, type StepOutcome, wait } from '../../engine/step.ts';
import { hetznerRobot } from '../../platforms/hetzner-robot/index.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import type { Services } from '../shared/services.ts';
import { withReleaseApproval } from './approved-release.ts';

/** The result of the only release step of a platform, with the approval `word`, and its Events. */
async function release(outcome: StepOutcome, item?: string, unproven = ['ServerUnknown', 'HostLost']) {
  const events: string[] = [];
  const services = {
    events: { record: (_: unknown, __: unknown, reason: string, message: string) => events.push(reason, message) },
  } as unknown as Services;
  const { metadata, ...rest } = aMachine();
  const notes = item === undefined ? {} : { [annotations.approve]: item };
  const machine = { ...rest, metadata: { ...metadata, annotations: notes } };
  const platform = {
    release: [{ name: 'claim-checked', run: async () => outcome }],
    loss: { unprovenReasons: unproven },
  } as unknown as Platform;
  const [step] = withReleaseApproval(services, machine, platform);
  return { outcome: await step?.run({} as StepContext), events };
}

const unknown = fail('ServerUnknown', 'It may still run.');

describe('a machine without proof that it is off', () => {
  it('is not released, and its message names the annotation for an approval', async () => {
    expect(await release(unknown)).toEqual({
      outcome: fail(
        'ServerUnknown',
        `It may still run. Once you have verified that it has stopped, set the annotation ${annotations.approve}: ServerUnknown on the Machine to release it.`,
      ),
      events: [],
    });
  });

  it('is not released with another approval', async () => {
    expect(await release(unknown, 'HostLost, VmGone')).toMatchObject({ outcome: { kind: 'fail' }, events: [] });
  });

  it('is released with the matching approval, which an Event records', async () => {
    const { outcome, events } = await release(unknown, 'HostLost, ServerUnknown');
    expect(outcome).toEqual(done({ approved: 'ServerUnknown' }));
    expect(events).toEqual(['ReleasedAsApproved', expect.stringContaining('It may still run.')]);
  });
});

describe('an approval has no effect', () => {
  it.each<[string, StepOutcome]>([
    ['on the result of a step', done()],
    ['on a wait', wait(5, 'It is shutting down.')],
    ['on other reasons', fail('ServerUnfit', 'It is another server.')],
  ])('%s', async (_, outcome) => {
    expect(await release(outcome, 'ServerUnknown, ServerUnfit')).toEqual({ outcome, events: [] });
  });

  it('on a platform without such reasons: its steps are unchanged', () => {
    const { loss: _, ...platform } = truenas;
    expect(withReleaseApproval({} as Services, aMachine(), platform)).toBe(platform.release);
  });
});

it('each platform names the reasons that a user can approve', () => {
  expect(hetznerRobot.loss?.unprovenReasons).toContain('ServerUnknown');
});
