import { expect, it } from 'vitest';
import { aCluster } from '../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../api/conditions.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { noLog } from '../../lib/log.ts';
import { recordClusterEvents } from './cluster-events.ts';

const ready = (status: Condition['status'], reason = 'AsExpected'): Condition => ({
  ...{ type: 'Ready', status, reason, message: `About ${reason}.`, lastTransitionTime: '2026-11-21T09:00:00Z' },
});
const statusOf = (phase: string, condition: Condition): NonNullable<Cluster['status']> => ({
  observedGeneration: 1,
  phase,
  conditions: [condition],
});

function events(before: Cluster['status'], now: NonNullable<Cluster['status']>, deletionTimestamp?: string): string[] {
  const found: string[] = [];
  const recorder = {
    record: (_: unknown, type: string, reason: string, message: string) => found.push(`${type} ${reason}: ${message}`),
  };
  const metadata = { name: 'main', namespace: 'shop', ...(deletionTimestamp ? { deletionTimestamp } : {}) };
  const cluster = { ...aCluster({}, metadata), ...(before ? { status: before } : {}) };
  const endpoint = { url: 'https://192.0.2.1:6443' };
  recordClusterEvents({ events: recorder } as never, { cluster, endpoint } as never, now, noLog);
  return found;
}
const up = statusOf('Ready', ready('True'));
const down = statusOf('Progressing', ready('False', 'WaitingForEndpoint'));

it('that a cluster is lost, and that it is back, are one Event each', () => {
  expect(events(up, down)).toEqual(['Warning WaitingForEndpoint: About WaitingForEndpoint.']);
  expect(events(down, down)).toEqual([]);
  expect(events(down, up)).toEqual(['Normal Ready: The cluster is reachable at https://192.0.2.1:6443.']);
});

it('a cluster in deletion is not reported as lost', () => {
  expect(events(up, { ...down, phase: 'Terminating' }, '2026-11-21T09:00:00Z')).toEqual([]);
});
