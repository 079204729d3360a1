import { describeService } from '../../talos/client/etcd-calls.ts';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';
import { type ControlPlaneReport, type ControlPlaneState, isSilent } from './observe-control-planes.ts';

/** What is known of etcd before a restore. */
export type EtcdCondition =
  | { readonly kind: 'lost' }
  /** A member follows a leader. */
  | { readonly kind: 'quorum'; readonly machine: string }
  | { readonly kind: 'unknown'; readonly message: string };

/** The next action of a restore that has begun. What it changes is recorded before. */
export type RestoreAction =
  | { readonly kind: 'wait'; readonly message: string }
  /** By Machine: its boot, in which its data are wiped. */
  | { readonly kind: 'wipe'; readonly boots: Readonly<Record<string, string>> }
  | { readonly kind: 'recover'; readonly machine: string }
  /** Etcd works again before anything was wiped, and nobody has approved that. */
  | { readonly kind: 'cancel' }
  /** The chosen node is lost, or has to be wiped again. */
  | { readonly kind: 'begin-again' }
  | { readonly kind: 'fail'; readonly message: string }
  /** Etcd runs with the content of the snapshot. `missing`: control planes that are no healthy voters yet. */
  | { readonly kind: 'prove'; readonly machine: string; readonly missing: readonly string[] };

interface AnsweringControlPlane {
  readonly name: string;
  readonly report: ControlPlaneReport;
}

/** The same snapshot is sent again: it may have been damaged on the way. */
const maxAttempts = 3;

/** Whether etcd can be restored at all, and what a restore would destroy. */
export function assessEtcd(states: readonly ControlPlaneState[]): EtcdCondition {
  if (states.length === 0) return { kind: 'unknown', message: 'No control plane has run its installed system yet.' };
  const problems = states.flatMap(({ name, isDeleted, report }) => {
    if (isSilent(report))
      return [
        `${name} does not answer: ${report.silent}. An old member of etcd that comes back would be a second cluster: if the machine is permanently lost, delete its Machine`,
      ];
    if (isDeleted) return [`${name} is being deleted`];
    return report.service ? [] : [`${name} is booting`];
  });
  if (problems.length > 0) return { kind: 'unknown', message: `${problems.join('. ')}.` };
  const same = findSharedBoot(states);
  if (same) return { kind: 'unknown', message: `${same.join(' and ')} have one address. Correct that.` };
  const healthy = answering(states).find(({ report }) => report.member?.hasLeader);
  return healthy ? { kind: 'quorum', machine: healthy.name } : { kind: 'lost' };
}

/** Decides from the record and what the control planes report. */
export function decideRestore(record: RestoreRecord, states: readonly ControlPlaneState[]): RestoreAction {
  const same = findSharedBoot(states);
  if (same) return { kind: 'wait', message: `${same.join(' and ')} have one address.` };
  const { request } = record;
  if (!request) return decideWipe(record, states);
  // Every control plane was empty before: a member that is healthy is one of the restored etcd.
  const healthy = answering(states).find(({ name, report }) => report.member?.members.includes(name));
  if (healthy) {
    const { members = [] } = healthy.report.member ?? {};
    return { kind: 'prove', machine: healthy.name, missing: listMissing(states, members) };
  }
  const chosen = states.find(({ name }) => name === request.machine);
  if (!chosen) return { kind: 'begin-again' };
  if (isSilent(chosen.report))
    return { kind: 'wait', message: `${chosen.name} does not answer: ${chosen.report.silent}.` };
  return decideRecovery({ ...record, request }, { name: chosen.name, report: chosen.report });
}

/** All at the same time: a node that is wiped alone would join what is left of the former etcd. */
function decideWipe(record: RestoreRecord, states: readonly ControlPlaneState[]): RestoreAction {
  const { wipes, overQuorum } = record;
  const isUntouched = Object.keys(wipes).length === 0;
  if (isUntouched && !overQuorum && answering(states).some(({ report }) => report.member?.hasLeader))
    return { kind: 'cancel' };
  const silent = states.filter(({ report }) => isSilent(report));
  const unknown = silent.filter(({ name }) => wipes[name] === undefined);
  if (unknown.length > 0) return { kind: 'wait', message: describeSilent(unknown) };
  const due = answering(states).filter(({ name, report }) => isWipeDue(wipes[name], report));
  if (due.length > 0)
    return { kind: 'wipe', boots: Object.fromEntries(due.map(({ name, report }) => [name, report.boot])) };
  const pending = states.filter(({ name, report }) => isSilent(report) || !isWiped(wipes[name], report));
  if (pending.length > 0)
    return { kind: 'wait', message: `The data are being wiped: ${pending.map(describePending).join(' ')}` };
  const [first] = answering(states);
  if (!first) return { kind: 'wait', message: 'There is no control plane.' };
  return { kind: 'recover', machine: first.name };
}

/** `recorded`: the boot in which the call was to be made. Without another boot since, it had no effect or is at work. */
function isWipeDue(recorded: string | undefined, { boot, stage, service, hasData }: ControlPlaneReport): boolean {
  if (stage === 'resetting' || stage === 'rebooting' || stage === 'shutting down') return false;
  // Only a control plane has the service.
  if (!service) return false;
  return recorded === undefined || recorded === boot || hasData;
}

/** It has booted since, waits for an etcd to join, and has no data. */
const isWiped = (recorded: string | undefined, { boot, service, hasData }: ControlPlaneReport): boolean =>
  recorded !== undefined && recorded !== boot && service?.state === 'Preparing' && !hasData;

function decideRecovery(
  { request, attempts, key }: RestoreRecord & { readonly request: NonNullable<RestoreRecord['request']> },
  { name, report: { service, hasData, boot } }: AnsweringControlPlane,
): RestoreAction {
  if (service?.state === 'Failed') {
    if (attempts >= maxAttempts)
      return {
        kind: 'fail',
        message: `${name} could not restore ${key}: ${describeService('etcd', service)} Name another backup.`,
      };
    return hasData ? { kind: 'begin-again' } : { kind: 'recover', machine: name };
  }
  const message = `etcd is being restored on ${name}: ${describeService('etcd', service)}`;
  if (hasData || service?.state !== 'Preparing') return { kind: 'wait', message };
  // A reboot loses the request. A service that has not changed was not reached by it.
  const isLost = boot !== request.boot || service.changedAt === request.changedAt;
  return isLost ? { kind: 'recover', machine: name } : { kind: 'wait', message };
}

const listMissing = (states: readonly ControlPlaneState[], members: readonly string[]): string[] =>
  states
    .filter(({ name, report }) => {
      if (isSilent(report)) return true;
      const { member } = report;
      return !member?.hasLeader || member.learner || !members.includes(name);
    })
    .map(({ name }) => name);

const answering = (states: readonly ControlPlaneState[]): AnsweringControlPlane[] =>
  states.flatMap(({ name, report }) => (isSilent(report) ? [] : [{ name, report }]));

/** Two Machines behind which one node answers. */
function findSharedBoot(states: readonly ControlPlaneState[]): readonly string[] | undefined {
  const nodes = answering(states);
  return nodes
    .map(({ report }) => nodes.filter((other) => other.report.boot === report.boot).map(({ name }) => name))
    .find((names) => names.length > 1);
}

const describeSilent = (states: readonly ControlPlaneState[]): string =>
  states.map(({ name, report }) => `${name} does not answer${isSilent(report) ? `: ${report.silent}` : ''}.`).join(' ');

const describePending = ({ name, report }: ControlPlaneState): string =>
  isSilent(report) ? `${name} does not answer yet.` : `${name}: ${describeService('etcd', report.service)}`;
