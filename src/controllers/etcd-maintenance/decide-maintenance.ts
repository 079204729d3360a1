import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { type EtcdReport, findEtcdProblem } from '../rollout/etcd-health.ts';

const mebibyte = 2 ** 20;
/** Less is not worth the seconds in which a member does not answer. */
const minReclaimableBytes = 128 * mebibyte;
/** A database that is used to this share of its quota is reported. */
const lowSpaceShare = 0.8;

/** What all control planes of a cluster report, and the limit of their databases. */
export interface EtcdMaintenanceView {
  readonly reports: readonly EtcdReport[];
  /** Names of all control planes. */
  readonly expected: readonly string[];
  readonly quotaBytes: number;
}

/** What to do for the databases of etcd. */
export type EtcdMaintenance =
  | { readonly kind: 'none' }
  /** `machine` leads etcd, which makes way for another member first. */
  | { readonly kind: 'move-leader'; readonly machine: string }
  | { readonly kind: 'defragment'; readonly machine: string; readonly bytes: number }
  /** etcd has space again, and refuses writes until its alarms are disarmed. */
  | { readonly kind: 'disarm' };

/** Decides from the view alone. One member at a time, the leader last; only while all members are healthy. */
export function decideEtcdMaintenance(view: EtcdMaintenanceView): EtcdMaintenance {
  const { reports, expected, quotaBytes } = view;
  const isFull = hasAlarm(reports, 'NOSPACE');
  // An alarm is an error of its member, too.
  const withoutAlarms = reports.map(({ status, ...report }) => ({
    ...report,
    alarms: report.alarms.filter((alarm) => !alarm.startsWith('NOSPACE')),
    status: {
      ...status,
      errors: isFull ? status.errors.filter((error) => !/alarm:NOSPACE/.test(error)) : status.errors,
    },
  }));
  if (reports.length < expected.length || findEtcdProblem(withoutAlarms, expected) !== undefined)
    return { kind: 'none' };
  const due = reports.filter((report) => isWorthwhile(report, isFull)).sort(compareReports);
  const [next] = due;
  if (next && isLeader(next) && reports.length > 1) return { kind: 'move-leader', machine: next.machine };
  if (next) return { kind: 'defragment', machine: next.machine, bytes: reclaimableBytes(next) };
  const hasSpace = reports.every(({ status }) => status.databaseBytes < quotaBytes * lowSpaceShare);
  return isFull && hasSpace ? { kind: 'disarm' } : { kind: 'none' };
}

const hasAlarm = (reports: readonly EtcdReport[], name: string): boolean =>
  reports.some(({ alarms }) => alarms.some((alarm) => alarm.startsWith(name)));

const reclaimableBytes = ({ status }: EtcdReport): number => status.databaseBytes - status.databaseInUseBytes;

/** Half of the database is free. A full etcd needs every byte. */
const isWorthwhile = (report: EtcdReport, isFull: boolean): boolean =>
  reclaimableBytes(report) >= (isFull ? 16 * mebibyte : minReclaimableBytes) &&
  (isFull || reclaimableBytes(report) * 2 >= report.status.databaseBytes);

const isLeader = ({ status }: EtcdReport): boolean => status.leaderId === status.memberId;

const compareReports = (a: EtcdReport, b: EtcdReport): number =>
  Number(isLeader(a)) - Number(isLeader(b)) || (a.machine < b.machine ? -1 : 1);

/** The condition `EtcdHasSpace`. Undefined: no control plane has answered. */
export function describeEtcdSpace({ reports, quotaBytes }: EtcdMaintenanceView): ConditionState | undefined {
  const [fullest] = [...reports].sort((a, b) => b.status.databaseBytes - a.status.databaseBytes);
  if (!fullest) return undefined;
  const { machine, status } = fullest;
  const size = `${toMiB(status.databaseBytes)} of ${toMiB(quotaBytes)} MiB on ${machine}, ${toMiB(status.databaseInUseBytes)} MiB in use.`;
  const remedy =
    'Find out which objects fill it, and delete them; cluster.etcd.extraArgs.quota-backend-bytes in controlPlane.patches raises the limit.';
  if (hasAlarm(reports, 'CORRUPT')) {
    const alarm = reports.flatMap(({ alarms }) => alarms).find((one) => one.startsWith('CORRUPT'));
    const message = `etcd has the alarm ${alarm}: the data of that member differs from that of the others. Delete the Machine of that member, to have it made anew.`;
    return conditionFalse('EtcdHasSpace', 'EtcdCorrupt', message);
  }
  if (hasAlarm(reports, 'NOSPACE'))
    return conditionFalse('EtcdHasSpace', 'EtcdFull', `etcd refuses writes: ${size} ${remedy}`);
  if (status.databaseInUseBytes >= quotaBytes * lowSpaceShare)
    return conditionFalse('EtcdHasSpace', 'EtcdSpaceLow', `etcd will soon refuse writes: ${size} ${remedy}`);
  return conditionTrue('EtcdHasSpace', size);
}

const toMiB = (bytes: number): number => Math.round(bytes / mebibyte);
