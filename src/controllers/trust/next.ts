import type { Machine } from '../../api/machine.ts';
import type { ClusterSecrets } from '../cluster-secrets.ts';
import type { TrustDecision } from './decide.ts';
import { sameWish, type TrustRecord } from './record.ts';
import { isRollDue, type RollState } from './roll.ts';
import { completed, inForce, isOnTrial, isProven, leavingBy, takeBack } from './trial.ts';

interface View {
  readonly secrets: ClusterSecrets | undefined;
  readonly trust: TrustDecision | undefined;
  readonly machines: readonly Machine[];
  /** How far the record has come, if it was looked at. */
  readonly roll?: Pick<RollState, 'failed'> | undefined;
}

/** What is to be written down about whom a cluster trusts, if that is another than what is. */
export function nextTrust({ secrets, trust, machines, roll }: View): TrustRecord | undefined {
  const record = secrets?.trust;
  if (!secrets || !trust || (!record && trust.entries.length === 0)) return undefined;
  if (record && roll?.failed !== undefined) return takeBack(record, roll.failed);
  if (record && isOnTrial(record, machines)) return undefined;
  if (!record || !sameWish(record.entries, trust.entries)) return begin(record, trust, secrets, machines);
  const isComplete = secrets.bootstrappedAt !== undefined && !isRollDue(machines, record);
  return isComplete && !record.complete ? completed(record) : undefined;
}

function begin(
  record: TrustRecord | undefined,
  { entries, requests }: TrustDecision,
  { bootstrappedAt }: ClusterSecrets,
  machines: readonly Machine[],
): TrustRecord {
  const before = inForce(record, machines);
  const isInitial = bootstrappedAt === undefined || (record?.initial === true && !isProven(record, machines));
  const isThere = ({ uid }: { readonly uid: string }): boolean => requests.some((request) => request.uid === uid);
  const failed = record?.failed?.filter(isThere) ?? [];
  const doubtful = record?.doubtful?.filter(isThere) ?? [];
  return {
    revision: (record?.revision ?? 0) + 1,
    entries: [...entries],
    leaving: leavingBy(record, entries),
    complete: false,
    ...(before ? { before } : {}),
    ...(isInitial ? { initial: true } : {}),
    ...(failed.length > 0 ? { failed } : {}),
    ...(doubtful.length > 0 ? { doubtful } : {}),
  };
}
