import type { Machine } from '../../../api/machine.ts';
import {
  hashDesiredTrust,
  hashTrustRecord,
  listTrustedRequestUids,
  type TrustAttempt,
  type TrustEntry,
  type TrustRecord,
} from './trust-record.ts';

/**
 * How long the API server of the first control plane may take to come up with a new trust. In life it is back after a
 * quarter of a minute, on a slow disk after one.
 */
const apiServerTimeoutMs = 180_000;

/** The same from the bootstrap of a cluster on, whose nodes fetch the images first. */
const bootstrapTimeoutMs = 900_000;

/** Control planes that have joined or are on their way to: others get the trust with their first configuration. */
export const controlPlanesOf = (machines: readonly Machine[]): Machine[] =>
  machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);

/** Whether the API server of any control plane was seen to run with it. */
export const isTrustProven = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  record.complete || controlPlanesOf(machines).some(({ status }) => status?.trust === hashTrustRecord(record));

/** What certainly lets API servers run; undefined where an older version of ours did not write it down. */
export function findEntriesInForce(
  record: TrustRecord | undefined,
  machines: readonly Machine[],
): TrustEntry[] | undefined {
  if (!record) return [];
  return isTrustProven(record, machines) ? record.entries : record.before;
}

const attemptsOf = (entries: readonly TrustEntry[]): (TrustAttempt & { readonly issuer: string })[] =>
  entries.flatMap((entry) =>
    entry.requests.map(({ uid, clientId }) => ({ uid, wish: hashDesiredTrust(entry, clientId), issuer: entry.issuer })),
  );

/** What this record brings that no API server has run with. To trust fewer does not break any. */
function untriedAttemptsOf({ entries, before }: TrustRecord): ReturnType<typeof attemptsOf> {
  if (!before) return [];
  const known = attemptsOf(before);
  return attemptsOf(entries).filter((one) => !known.some(({ uid, wish }) => uid === one.uid && wish === one.wish));
}

/** Whether it has to be seen on one control plane that API servers come up with it. */
export const needsTrial = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  !isTrustProven(record, machines) && untriedAttemptsOf(record).length > 0;

/** Whether a control plane is trying it right now: until that is decided, nothing else is begun. */
export const isTrialRunning = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  needsTrial(record, machines) && controlPlanesOf(machines).some(({ metadata }) => metadata.name === record.trial);

/** How long the API server of this control plane may take to come up with the record; undefined when it may for ever. */
export function findTrialTimeoutMs(record: TrustRecord, machine: string): number | undefined {
  if (record.trial !== undefined) return record.trial === machine ? apiServerTimeoutMs : undefined;
  return record.initial ? bootstrapTimeoutMs : undefined;
}

/**
 * The record that goes back to what was in force. One issuer that was new to a control plane which served is to blame by
 * itself; of several, and in a new cluster, which may have been slow for another reason, each is tried alone after that, so
 * that one request does not stand in the way of others.
 */
export function rollBackRecord(record: TrustRecord, machine: string): TrustRecord {
  const { before = [], initial, failed = [], doubtful = [] } = record;
  const newcomers = untriedAttemptsOf(record);
  const bare = newcomers.map(({ uid, wish }) => ({ uid, wish }));
  const isNew = ({ uid }: TrustAttempt): boolean => bare.some((one) => one.uid === uid);
  const isOne = record.trial !== undefined && new Set(newcomers.map(({ issuer }) => issuer)).size === 1;
  return {
    revision: record.revision + 1,
    entries: before,
    leaving: findRemovedRequestUids(record, before),
    complete: false,
    before,
    takenBack: true,
    ...(initial ? { initial } : {}),
    failed: [...failed.filter((one) => !isNew(one)), ...(isOne ? bare.map((one) => ({ ...one, machine })) : [])],
    doubtful: [...doubtful.filter((one) => !isNew(one)), ...(isOne ? [] : bare)],
  };
}

/** Requests that were trusted for, or may have been, and are not by these entries. */
export function findRemovedRequestUids(record: TrustRecord | undefined, entries: readonly TrustEntry[]): string[] {
  const stays = listTrustedRequestUids(entries);
  const before = [...(record?.leaving ?? []), ...listTrustedRequestUids(record?.entries ?? [])];
  return [...new Set(before)].filter((uid) => !stays.includes(uid));
}

/** Every control plane was seen with it: nothing has to be gone back to, and what was tried is above doubt. */
export function completeRecord({ revision, entries, failed = [], doubtful = [] }: TrustRecord): TrustRecord {
  const proven = attemptsOf(entries);
  const left = doubtful.filter(({ uid, wish }) => !proven.some((one) => one.uid === uid && one.wish === wish));
  return {
    revision,
    entries: entries.map(({ requests, ...entry }) => ({
      ...entry,
      requests: requests.map((request) => ({ ...request, complete: true })),
    })),
    leaving: [],
    complete: true,
    ...(failed.length > 0 ? { failed } : {}),
    ...(left.length > 0 ? { doubtful: left } : {}),
  };
}
