import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../api/conditions.ts';
import { decideHealth } from './decide-health.ts';

const now = new Date('2026-01-01T00:10:00Z');
const reachable = (status: Condition['status'], seconds: number): Condition => ({
  ...{ type: 'EndpointReachable', status, reason: 'AsExpected', message: '' },
  lastTransitionTime: new Date(now.getTime() - seconds * 1000).toISOString(),
});

describe('M12: the health in a ClusterProfile', () => {
  it.each([
    ['is True from the start, because the credentials were tried', reachable('True', 0), undefined, { status: 'True' }],
    ['stays True during a short failure', reachable('False', 20), 'True', { status: 'True', seconds: 40 }],
    ['is False after a minute', reachable('False', 60), 'True', { status: 'False' }],
    ['is False as well if it is not known', reachable('Unknown', 60), 'True', { status: 'False' }],
    ['stays False right after the first answer', reachable('True', 4), 'False', { status: 'False', seconds: 6 }],
    ['is True after ten seconds', reachable('True', 10), 'False', { status: 'True' }],
    ['does not flap', reachable('True', 1), 'True', { status: 'True' }],
    ['does not wait for a clock that was set back', reachable('False', -3600), 'True', { status: 'True', seconds: 60 }],
    ['is False without a condition', undefined, 'True', { status: 'False' }],
  ] as const)('%s', (_, condition, known, expected) => {
    expect(decideHealth(condition, known, now)).toEqual(expected);
  });
});
