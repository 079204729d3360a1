import { expect, it } from 'vitest';
import type { Cluster } from '../../api/openmcp/types.ts';
import { clusterReports, hasOtherClusterReport, keepClusterReports } from './cluster-report.ts';

const cluster = (backup: unknown, reason = 'AsExpected'): Cluster =>
  ({
    metadata: { name: 'a', uid: 'u' },
    status: {
      conditions: [
        { type: 'BackedUp', status: 'True', reason, message: '', lastTransitionTime: '' },
        { type: 'Ready', status: 'True', reason: 'AsExpected', message: '', lastTransitionTime: '' },
      ],
      providerStatus: { backup, platform: 'truenas' },
    },
  }) as unknown as Cluster;

it('the other writer of the status keeps the report, and nothing else of it', () => {
  expect(keepClusterReports(cluster({ failures: 0 }))).toEqual({
    conditions: [expect.objectContaining({ type: 'BackedUp' })],
    providerStatus: { backup: { failures: 0 } },
  });
  expect(keepClusterReports({ ...cluster(undefined), status: undefined } as unknown as Cluster)).toEqual({
    conditions: [],
    providerStatus: {},
  });
});

it.each([
  ['the same report', cluster({ failures: 0 }), false],
  ['an older record', cluster({ failures: 1 }), true],
  ['another condition', cluster({ failures: 0 }, 'BackupFailed'), true],
  ['no record', cluster(undefined), true],
])('%s wakes the controller: %s', (_, object, isOther) => {
  const change = { kind: 'updated', object, before: cluster({ failures: 0 }) } as const;
  expect(hasOtherClusterReport(clusterReports.backup, change)).toBe(isOther);
  expect(hasOtherClusterReport(clusterReports.restore, change)).toBe(false);
});
