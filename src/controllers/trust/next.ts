import type { Machine } from '../../api/machine.ts';
import type { ClusterSecrets } from '../cluster-secrets.ts';
import type { TrustDecision } from './decide.ts';
import { sameWish, type TrustEntry, type TrustRecord, trustedFor } from './record.ts';
import { isRollDue } from './roll.ts';

/** What is to be written down about whom a cluster trusts, if that is another than what is. */
export function nextTrust(view: {
  readonly secrets: ClusterSecrets | undefined;
  readonly trust: TrustDecision | undefined;
  readonly machines: readonly Machine[];
}): TrustRecord | undefined {
  const { secrets, trust, machines } = view;
  const record = secrets?.trust;
  if (!secrets || !trust || (!record && trust.entries.length === 0)) return undefined;
  if (!record || !sameWish(record.entries, trust.entries)) {
    const revision = (record?.revision ?? 0) + 1;
    return { revision, entries: [...trust.entries], leaving: leavingBy(record, trust.entries), complete: false };
  }
  const isComplete = secrets.bootstrappedAt !== undefined && !isRollDue(machines, record);
  return isComplete && !record.complete
    ? { ...record, entries: record.entries.map(completed), leaving: [], complete: true }
    : undefined;
}

function leavingBy(record: TrustRecord | undefined, entries: readonly TrustEntry[]): string[] {
  const stays = trustedFor(entries);
  const before = [...(record?.leaving ?? []), ...trustedFor(record?.entries ?? [])];
  return [...new Set(before)].filter((uid) => !stays.includes(uid));
}

const completed = ({ requests, ...entry }: TrustEntry): TrustEntry => ({
  ...entry,
  requests: requests.map((request) => ({ ...request, complete: true })),
});
