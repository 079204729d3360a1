import { describe, expect, it } from 'vitest';
import { aCluster, aProviderConfig, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { annotations } from '../../../api/names.ts';
import { describeUnknownRequest, findRolloutHold } from './rollout-hold.ts';

const noted = (value?: string) => (value === undefined ? {} : { annotations: { [annotations.rollout]: value } });
const night = { windows: [{ from: '22:00', to: '04:00' }] };
function hold(ofCluster?: string, ofConfig?: string, rollout: object = night) {
  const config = aProviderConfig();
  return findRolloutHold({
    cluster: aCluster({}, noted(ofCluster)),
    config: { ...config, metadata: { ...config.metadata, ...noted(ofConfig) } },
    rollout: aSpec((raw) => Object.assign(raw, { rollout })).rollout,
    now: new Date('2026-11-25T12:00:00Z'),
  });
}

describe('what holds changes up', () => {
  it('is nothing without annotations and windows', () => {
    expect(hold(undefined, undefined, {})).toBeUndefined();
  });

  it('is a pause of the Cluster or of its ProviderConfig, and a pause is stronger than now', () => {
    expect(hold('pause', undefined, {})).toMatchObject({
      reason: 'RolloutPaused',
      message: expect.stringMatching(/Cluster prod is pause/),
    });
    expect(hold('now', 'pause')).toMatchObject({
      reason: 'RolloutPaused',
      message: expect.stringMatching(/ProviderConfig home is pause/),
    });
  });

  it('is a closed window, with the time of the next one', () => {
    const until = new Date('2026-11-25T22:00:00Z');
    const message = expect.stringMatching(/begins at 2026-11-25T22:00Z\.$/);
    expect(hold()).toEqual({ reason: 'OutsideWindow', message, until });
  });

  it('is no window after now', () => {
    expect([hold('now'), hold(undefined, 'now')]).toEqual([undefined, undefined]);
    expect(hold('retry')).toMatchObject({ reason: 'OutsideWindow' });
  });

  it('is no value that is unknown, which is reported', () => {
    expect(hold('stop', undefined, {})).toBeUndefined();
    expect(describeUnknownRequest(aCluster({}, noted('stop')))).toMatch(
      /^metadata\.annotations\[.*rollout\] of Cluster prod: "stop" is unknown and has no effect\. Use one of pause, now/,
    );
    expect(describeUnknownRequest(aCluster({}, noted('pause')))).toBeUndefined();
    expect(describeUnknownRequest(aCluster())).toBeUndefined();
  });
});
