import { describe, expect, it } from 'vitest';
import type { EtcdReport } from '../rollout/etcd-health.ts';
import { decideEtcdMaintenance, describeEtcdSpace } from './decide-maintenance.ts';
import { etcdQuotaOf } from './etcd-quota.ts';

const mib = 2 ** 20;
const quotaBytes = 2048 * mib;
const names = ['cp-0', 'cp-1', 'cp-2'];
const members = names.map((name) => ({ id: name, name, peerUrls: [], learner: false }));

/** Each case: bytes of the database and in use, in MiB, of each member; the first leads. */
function reportsOf(sizes: readonly (readonly [number, number])[], alarms: readonly string[] = []): EtcdReport[] {
  return sizes.map(([bytes, inUse], i) => ({
    machine: names[i] ?? '',
    members: members.slice(0, sizes.length),
    alarms,
    status: {
      ...{ memberId: names[i] ?? '', leaderId: 'cp-0', learner: false },
      errors: alarms.map((alarm) => `memberID:1 alarm:${alarm.split(' ')[0]} `),
      ...{ databaseBytes: bytes * mib, databaseInUseBytes: inUse * mib },
    },
  }));
}

const viewOf = (reports: EtcdReport[], count = reports.length) => ({
  reports,
  expected: names.slice(0, count),
  quotaBytes,
});
const decide = (...input: Parameters<typeof viewOf>) => {
  const work = decideEtcdMaintenance(viewOf(...input));
  return 'machine' in work ? `${work.kind} ${work.machine}` : work.kind;
};
const small = [20, 8] as const;
const half = [400, 150] as const;
const nospace = ['NOSPACE of 1'];

describe('the databases of etcd', () => {
  it.each<[string, Parameters<typeof viewOf>, string]>([
    ['that are small are left alone', [reportsOf([small, small, small])], 'none'],
    ['of which less than half is free are left alone', [reportsOf([[400, 201]])], 'none'],
    [
      'are defragmented one at a time, not that of the leader first',
      [reportsOf([half, half, half])],
      'defragment cp-1',
    ],
    ['lead elsewhere before the last one', [reportsOf([half, small, small])], 'move-leader cp-0'],
    ['of a single member are defragmented as they are', [reportsOf([half])], 'defragment cp-0'],
    ['are left alone while a control plane does not answer', [reportsOf([half, half]), 3], 'none'],
    [
      'that are full are defragmented for less',
      [
        reportsOf(
          [
            [2048, 2000],
            [2048, 2048],
            [2048, 2048],
          ],
          nospace,
        ),
      ],
      'move-leader cp-0',
    ],
    ['with space again are disarmed', [reportsOf([small, small, small], nospace)], 'disarm'],
    ['that are still full are not disarmed', [reportsOf([[2048, 2047], small, small], nospace)], 'none'],
    [
      'with the alarm CORRUPT are left alone, and never disarmed',
      [reportsOf([half, half, half], ['CORRUPT of 1', ...nospace])],
      'none',
    ],
  ])('%s', (_, input, expected) => expect(decide(...input)).toBe(expected));

  it.each<[string, EtcdReport[], string, RegExp]>([
    ['with room', reportsOf([small]), 'AsExpected', /^20 of 2048 MiB on cp-0, 8 MiB in use\.$/],
    [
      'nearly full',
      reportsOf([small, [1700, 1650]]),
      'EtcdSpaceLow',
      /soon refuse writes: 1700 of 2048 MiB on cp-1.*quota-backend-bytes/,
    ],
    ['full', reportsOf([[2048, 2040]], nospace), 'EtcdFull', /refuses writes: 2048 of 2048/],
    ['corrupt', reportsOf([small], ['CORRUPT of 1']), 'EtcdCorrupt', /alarm CORRUPT of 1.*Delete the Machine/],
  ])('%s are reported', (_, reports, reason, message) => {
    const state = describeEtcdSpace(viewOf(reports));
    expect(state?.reason).toBe(reason);
    expect(state?.message).toMatch(message);
  });

  it('are not reported without an answer', () => expect(describeEtcdSpace(viewOf([]))).toBeUndefined());
});

describe('the quota of etcd', () => {
  const quota = (value: unknown) => ({ cluster: { etcd: { extraArgs: { 'quota-backend-bytes': value } } } });
  it.each<[string, object[], object[], number]>([
    ['is 2 GiB', [], [{ machine: {} }], 2 ** 31],
    ['is that of a patch', [], [quota('8589934592')], 2 ** 33],
    ['is that of the last patch', [quota(3)], [quota(5), { cluster: null }], 5],
    ['is not what is no number', [], [quota('much'), quota(-1)], 2 ** 31],
  ])('%s', (_, everywhere, patches, expected) => {
    const input = { talos: { patches: everywhere }, controlPlane: { patches } };
    expect(etcdQuotaOf(input as never)).toBe(expected);
  });
});
