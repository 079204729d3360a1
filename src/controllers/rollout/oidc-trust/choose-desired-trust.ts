import type { DesiredTrust } from './desired-trust.ts';
import { hashDesiredTrust, type TrustEntry, type TrustRecord } from './trust-record.ts';

/** The desired trust of a request with the CA certificates for its issuer. */
export type DesiredTrustWithCa = DesiredTrust & { readonly ca: string | undefined };

/** The trust that a request gets: the desired one, its previous one, or none for now. */
interface TrustChoice {
  readonly desired: DesiredTrustWithCa | undefined;
  /** Why the desired trust is never applied. */
  readonly failed?: string;
  /** The desired trust is applied later. */
  readonly waiting?: boolean;
  /** Its issuer is the next to be tried, if the request is admitted. */
  readonly isNext?: boolean;
}

/**
 * A failed trust is not tried again. While some are uncertain, one issuer is tried at a time (`turn`: the issuer already
 * chosen), and only when no rollout is running. Meanwhile a request keeps its previous trust.
 */
export function chooseDesiredTrust(
  record: TrustRecord | undefined,
  uid: string,
  requested: DesiredTrustWithCa,
  turn: string | undefined,
): TrustChoice {
  const id = hashCandidate(requested);
  const kept = findTrustInForce(record, uid);
  const failure = record?.failed?.find((one) => one.uid === uid && one.desired === id);
  if (failure) return { desired: kept, failed: describeFailure(failure.machine, kept !== undefined) };
  const isUncertain = (record?.uncertain ?? []).length > 0;
  if (!isUncertain || (kept && hashCandidate(kept) === id)) return { desired: requested };
  const takesTurn = record?.complete === true && (turn === undefined || turn === requested.issuer);
  return takesTurn ? { desired: requested, isNext: takesTurn } : { desired: kept, waiting: true };
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
  `spec.oidc: the API server of ${machine} did not start with this configuration, which was rolled back. ${hasKept ? 'The previous configuration is active. ' : ''}Correct spec.oidc, or recreate the AccessRequest, to try again.`;
