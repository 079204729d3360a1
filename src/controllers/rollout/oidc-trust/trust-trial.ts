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
 * How long the API server of the first control plane may take to start with a new trust. Normally it takes 15 seconds,
 * and a minute on a slow disk.
 */
const apiServerTimeoutMs = 180_000;

/** The same from the bootstrap of a cluster on: its nodes pull the images first. */
const bootstrapTimeoutMs = 900_000;

/** Control planes without deletion. New ones get the trust with their first configuration. */
export const controlPlanesOf = (machines: readonly Machine[]): Machine[] =>
  machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);

/** Whether the API server of any control plane was observed to run with the record. */
export const isTrustProven = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  record.complete || controlPlanesOf(machines).some(({ status }) => status?.trust === hashTrustRecord(record));

/**
 * The entries with which API servers certainly run; undefined if an older version of this provider did not record them.
 */
export function findEntriesInForce(
  record: TrustRecord | undefined,
  machines: readonly Machine[],
): TrustEntry[] | undefined {
  if (!record) return [];
  return isTrustProven(record, machines) ? record.entries : record.before;
}

const attemptsOf = (entries: readonly TrustEntry[]): (TrustAttempt & { readonly issuer: string })[] =>
  entries.flatMap((entry) =>
    entry.requests.map(({ uid, clientId }) => ({
      uid,
      desired: hashDesiredTrust(entry, clientId),
      issuer: entry.issuer,
    })),
  );

/** The entries of this record with which no API server has run. Fewer entries cannot break an API server. */
function untriedAttemptsOf({ entries, before }: TrustRecord): ReturnType<typeof attemptsOf> {
  if (!before) return [];
  const known = attemptsOf(before);
  return attemptsOf(entries).filter(
    (one) => !known.some(({ uid, desired }) => uid === one.uid && desired === one.desired),
  );
}

/** Whether the record must be tried on one control plane first. */
export const needsTrial = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  !isTrustProven(record, machines) && untriedAttemptsOf(record).length > 0;

/** Whether a control plane is trying the record. Until it succeeds or fails, no other change begins. */
export const isTrialRunning = (record: TrustRecord, machines: readonly Machine[]): boolean =>
  needsTrial(record, machines) && controlPlanesOf(machines).some(({ metadata }) => metadata.name === record.trial);

/** How long the API server of this control plane may take to start with the record; undefined without a limit. */
export function findTrialTimeoutMs(record: TrustRecord, machine: string): number | undefined {
  if (record.trial !== undefined) return record.trial === machine ? apiServerTimeoutMs : undefined;
  return record.initial ? bootstrapTimeoutMs : undefined;
}

/**
 * The record that restores the previous entries. If one issuer was new on a control plane whose API server had run
 * before, that issuer has failed. If several were new, or the cluster is new and may be slow for another reason, each
 * issuer becomes uncertain and is tried alone later, so that one request does not block others.
 */
export function rollBackRecord(record: TrustRecord, machine: string): TrustRecord {
  const { before = [], initial, failed = [], uncertain = [] } = record;
  const untried = untriedAttemptsOf(record);
  const bare = untried.map(({ uid, desired }) => ({ uid, desired }));
  const isNew = ({ uid }: TrustAttempt): boolean => bare.some((one) => one.uid === uid);
  const isOne = record.trial !== undefined && new Set(untried.map(({ issuer }) => issuer)).size === 1;
  return {
    revision: record.revision + 1,
    entries: before,
    leaving: findRemovedRequestUids(record, before),
    complete: false,
    before,
    takenBack: true,
    ...(initial ? { initial } : {}),
    failed: [...failed.filter((one) => !isNew(one)), ...(isOne ? bare.map((one) => ({ ...one, machine })) : [])],
    uncertain: [...uncertain.filter((one) => !isNew(one)), ...(isOne ? [] : bare)],
  };
}

/** UIDs of requests whose issuers are, or may be, trusted and are not in these entries. */
export function findRemovedRequestUids(record: TrustRecord | undefined, entries: readonly TrustEntry[]): string[] {
  const stays = listTrustedRequestUids(entries);
  const before = [...(record?.leaving ?? []), ...listTrustedRequestUids(record?.entries ?? [])];
  return [...new Set(before)].filter((uid) => !stays.includes(uid));
}

/**
 * The record after every control plane was observed with it: the rollback entries are dropped, and its attempts are no
 * longer uncertain.
 */
export function completeRecord({ revision, entries, failed = [], uncertain = [] }: TrustRecord): TrustRecord {
  const proven = attemptsOf(entries);
  const left = uncertain.filter(
    ({ uid, desired }) => !proven.some((one) => one.uid === uid && one.desired === desired),
  );
  return {
    revision,
    entries: entries.map(({ requests, ...entry }) => ({
      ...entry,
      requests: requests.map((request) => ({ ...request, complete: true })),
    })),
    leaving: [],
    complete: true,
    ...(failed.length > 0 ? { failed } : {}),
    ...(left.length > 0 ? { uncertain: left } : {}),
  };
}
