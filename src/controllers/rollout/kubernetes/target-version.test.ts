import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import { decideTargetVersion, type VersionInput } from './target-version.ts';

const offering = (versions: readonly string[], talos = '1.13.9', deprecated: readonly string[] = []) =>
  aSpec((raw) => {
    raw['talos'] = { version: talos };
    raw['kubernetes'] = {
      versions: versions.map((version) => ({ version, deprecated: deprecated.includes(version) })),
    };
  });

const offered = ['1.33.5', '1.34.1', '1.34.3', '1.35.2', '1.35.4'];

const decide = (running: string, desired: string | undefined, more: Partial<VersionInput> = {}) =>
  decideTargetVersion({
    running,
    desired,
    spec: offering(offered),
    newestApiServer: undefined,
    talos: [{ machine: 'cp-0', version: '1.13.9' }],
    ...more,
  });

describe('the Kubernetes version that a cluster is upgraded to', () => {
  it.each<[string, string, string | undefined, object]>([
    ['stays without a request', '1.34.1', undefined, {}],
    ['stays when it is the requested one', '1.34.1', '1.34.1', {}],
    ['stays when it is requested and not offered any more', '1.32.9', '1.32.9', {}],
    ['stays when its minor is requested and only older patches are offered', '1.34.7', '1.34', {}],
    [
      'is the newest patch of the requested minor',
      '1.34.1',
      '1.34',
      { from: '1.34.1', to: '1.34.3', target: '1.34.3' },
    ],
    ['is the requested one of the next minor', '1.34.1', '1.35.2', { from: '1.34.1', to: '1.35.2', target: '1.35.2' }],
    ['is reached by way of the minor between', '1.33.5', '1.35', { from: '1.33.5', to: '1.34.3', target: '1.35.4' }],
  ])('%s', (_, running, desired, hop) => {
    expect(decide(running, desired)).toEqual(Object.keys(hop).length > 0 ? { hop } : {});
  });

  it('is not a deprecated one, unless it is the only one', () => {
    const spec = offering(['1.34.1', '1.34.3', '1.35.4'], '1.13.9', ['1.34.3', '1.35.4']);
    expect(decide('1.34.1', '1.34', { spec })).toEqual({});
    expect(decide('1.34.1', '1.35', { spec })).toMatchObject({ hop: { to: '1.35.4' } });
  });

  it.each<[string, string, string, Partial<VersionInput>, string, RegExp]>([
    [
      'a downgrade',
      '1.35.2',
      '1.34.3',
      {},
      'VersionChangeRejected',
      /runs 1\.35\.2.*cannot be taken back to 1\.34\.3\. Restore 1\.35\.2/,
    ],
    ['an older patch', '1.35.4', '1.35.2', {}, 'VersionChangeRejected', /Restore 1\.35\.4/],
    ['a version that is not offered', '1.35.4', '1.36.0', {}, 'VersionNotOffered', /1\.36\.0 is not offered.*1\.34\.1/],
    ['a text that is no version', '1.35.4', 'v', {}, 'VersionNotOffered', /v is not offered/],
    [
      'D13: two minors when no version between is offered',
      '1.33.5',
      '1.35.4',
      { spec: offering(['1.33.5', '1.35.4']) },
      'VersionChangeRejected',
      /no version of 1\.34 is offered\. Add one to kubernetes\.versions/,
    ],
    [
      'D13: a version that the Talos of a node does not run',
      '1.35.4',
      '1.36.1',
      { spec: offering(['1.36.1'], '1.12.6'), talos: [{ machine: 'cp-0', version: '1.12.6' }] },
      'VersionChangeRejected',
      /Talos 1\.12\.6 on cp-0 does not run Kubernetes 1\.36\.1\. It needs Talos 1\.13 or newer/,
    ],
  ])('%s is refused', (_, running, desired, more, reason, message) => {
    expect(decide(running, desired, more)).toEqual({ refused: { reason, message: expect.stringMatching(message) } });
  });

  it.each<[string, string, string]>([
    ['needs the newer Talos', '1.36.1', '1.35.4'],
    ['does not need it', '1.35.4', '1.34.1'],
  ])('D13: waits for the upgrade of Talos when both change, and Kubernetes %s', (_, desired, running) => {
    const talos = [
      { machine: 'cp-0', version: '1.13.9' },
      { machine: 'cp-1', version: '1.12.6' },
    ];
    expect(decide(running, desired, { spec: offering(['1.35.4', '1.36.1']), talos })).toMatchObject({
      hop: { to: desired },
      waits: expect.stringMatching(/waits for the upgrade of Talos: 1 of 2 machines run Talos 1\.13\.9/),
    });
  });

  it('does not wait for a Talos that no longer runs the present Kubernetes', () => {
    const talos = [{ machine: 'cp-0', version: '1.13.9' }];
    expect(decide('1.31.9', '1.32.1', { spec: offering(['1.32.1'], '1.14.0'), talos })).toEqual({
      hop: { from: '1.31.9', to: '1.32.1', target: '1.32.1' },
    });
  });
});

describe('D19: an upgrade that is taken back', () => {
  it('is cancelled before an API server has changed', () => {
    expect(decide('1.34.1', '1.34.1', { newestApiServer: '1.34.1' })).toEqual({});
  });

  it.each(['1.34.1', '1.34', '1.33.5'])('is refused with a sentence afterwards, and goes on (%s)', (desired) => {
    const { refused, hop } = decide('1.34.1', desired, { newestApiServer: '1.35.2' });
    expect(refused).toEqual({
      reason: 'VersionChangeRejected',
      message: expect.stringMatching(/the upgrade to 1\.35\.2 has begun.*cannot be taken back to 1\.3.*Set 1\.35\.2/),
    });
    expect(hop).toEqual({ from: '1.34.1', to: '1.35.2', target: '1.35.2' });
  });

  it('goes on without a request, and when its version is not offered any more', () => {
    const hop = { from: '1.34.1', to: '1.35.0', target: '1.35.0' };
    expect(decide('1.34.1', undefined, { newestApiServer: '1.35.0' })).toEqual({ hop });
    expect(decide('1.34.1', '1.35.0', { newestApiServer: '1.35.0' })).toEqual({ hop });
  });

  it('can be continued with a later patch, and with a further minor after it', () => {
    expect(decide('1.34.1', '1.35.4', { newestApiServer: '1.35.2' })).toMatchObject({ hop: { to: '1.35.4' } });
    const spec = offering(['1.35.2', '1.36.1']);
    expect(decide('1.34.1', '1.36.1', { newestApiServer: '1.35.2', spec })).toMatchObject({
      hop: { to: '1.35.2', target: '1.36.1' },
    });
  });
});
