import type { Machine } from '../../../api/machine.ts';
import type { ClusterSecrets } from '../../shared/secrets/cluster-secrets.ts';
import type { TrustDecision } from './decide-trust.ts';
import { isTrustRolloutDue, type TrustRolloutState } from './roll-out-trust.ts';
import { isSameTrust, type TrustRecord } from './trust-record.ts';
import {
  completeRecord,
  findEntriesInForce,
  findRemovedRequestUids,
  isTrialRunning,
  isTrustProven,
  rollBackRecord,
} from './trust-trial.ts';

interface NextRecordInput {
  readonly secrets: ClusterSecrets | undefined;
  readonly trust: TrustDecision | undefined;
  readonly machines: readonly Machine[];
  /** The progress of the current record, if it was observed. */
  readonly trustRollout: Pick<TrustRolloutState, 'failed'> | undefined;
}

/** The next trust record, if it differs from the current one. */
export function decideNextTrustRecord({
  secrets,
  trust,
  machines,
  trustRollout: rollout,
}: NextRecordInput): TrustRecord | undefined {
  const record = secrets?.trust;
  if (!secrets || !trust || (!record && trust.entries.length === 0)) return undefined;
  if (record && rollout?.failed !== undefined) return rollBackRecord(record, rollout.failed);
  if (record && isTrialRunning(record, machines)) return undefined;
  if (!record || !isSameTrust(record.entries, trust.entries)) return beginRecord(record, trust, secrets, machines);
  const isComplete = secrets.bootstrappedAt !== undefined && !isTrustRolloutDue(machines, record);
  return isComplete && !record.complete ? completeRecord(record) : undefined;
}

function beginRecord(
  record: TrustRecord | undefined,
  { entries, requests }: TrustDecision,
  { bootstrappedAt }: ClusterSecrets,
  machines: readonly Machine[],
): TrustRecord {
  const before = findEntriesInForce(record, machines);
  const isInitial = bootstrappedAt === undefined || (record?.initial === true && !isTrustProven(record, machines));
  const isThere = ({ uid }: { readonly uid: string }): boolean => requests.some((request) => request.uid === uid);
  const failed = record?.failed?.filter(isThere) ?? [];
  const uncertain = record?.uncertain?.filter(isThere) ?? [];
  return {
    revision: (record?.revision ?? 0) + 1,
    entries: [...entries],
    leaving: findRemovedRequestUids(record, entries),
    complete: false,
    ...(before ? { before } : {}),
    ...(isInitial ? { initial: true } : {}),
    ...(failed.length > 0 ? { failed } : {}),
    ...(uncertain.length > 0 ? { uncertain } : {}),
  };
}
