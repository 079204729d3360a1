import type { DesiredTrust } from './desired-trust.ts';
import { hashDesiredTrust, type TrustEntry, type TrustRecord } from './trust-record.ts';

/** What a request wants, with the authorities that the issuer would be checked by. */
export type DesiredTrustWithCa = DesiredTrust & { readonly ca: string | undefined };

/** What a request gets: what it asks for, what it had before, or nothing for now. */
interface TrustChoice {
  readonly wish: DesiredTrustWithCa | undefined;
  /** Why it does not get what it asks for, for good. */
  readonly failed?: string;
  /** It gets what it asks for later. */
  readonly waits?: boolean;
  /** It is the turn of its issuer, if it is admitted. */
  readonly takesTurn?: boolean;
}

/**
 * What failed once is not tried again, and as long as there is doubt one issuer is tried at a time (`turn`: the one that is
 * chosen already), when nothing else is under way. Meanwhile a request that was trusted for something else before keeps that.
 */
export function chooseDesiredTrust(
  record: TrustRecord | undefined,
  uid: string,
  asked: DesiredTrustWithCa,
  turn: string | undefined,
): TrustChoice {
  const id = hashCandidate(asked);
  const kept = findTrustInForce(record, uid);
  const failure = record?.failed?.find((one) => one.uid === uid && one.wish === id);
  if (failure) return { wish: kept, failed: describeFailure(failure.machine, kept !== undefined) };
  const isDoubtful = (record?.doubtful ?? []).length > 0;
  if (!isDoubtful || (kept && hashCandidate(kept) === id)) return { wish: asked };
  const takesTurn = record?.complete === true && (turn === undefined || turn === asked.issuer);
  return takesTurn ? { wish: asked, takesTurn } : { wish: kept, waits: true };
}

function hashCandidate({ clientId, ca, ...settings }: DesiredTrustWithCa): string {
  return hashDesiredTrust({ ...settings, ...(ca === undefined ? {} : { ca }) }, clientId);
}

function findTrustInForce(record: TrustRecord | undefined, uid: string): DesiredTrustWithCa | undefined {
  const entry = record?.entries.find(({ requests }) => requests.some((request) => request.uid === uid));
  const clientId = entry?.requests.find((request) => request.uid === uid)?.clientId;
  return entry && clientId !== undefined ? entryToDesiredTrust(entry, clientId) : undefined;
}

function entryToDesiredTrust({ requests: _, ca, ...settings }: TrustEntry, clientId: string): DesiredTrustWithCa {
  return { ...settings, clientId, ca };
}

const describeFailure = (machine: string, hasKept: boolean): string =>
  `spec.oidc: the API server of ${machine} did not come up with this, so it was taken back. ${hasKept ? 'What was trusted before is in force. ' : ''}It is tried again when spec.oidc changes: correct it, or delete the request and make it again.`;
