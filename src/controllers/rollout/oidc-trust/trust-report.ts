import { z } from 'zod';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { TrustDecision } from './decide-trust.ts';
import type { TrustRolloutState } from './roll-out-trust.ts';
import { hashDesiredTrust, type TrustEntry, type TrustRecord } from './trust-record.ts';

/** What became of one request: its issuer is trusted everywhere, will be, cannot be, or could not be. */
const RequestTrustStatus = z.object({
  uid: z.string(),
  /** Namespace and name, for people. */
  request: z.string(),
  /** The spec that this speaks of. */
  generation: z.int(),
  state: z.enum(['Trusted', 'Rolling', 'Refused', 'Failed']),
  message: z.string().optional(),
});
export type RequestTrustStatus = z.infer<typeof RequestTrustStatus>;

/** How the Cluster tells of its trust in OIDC issuers, as `providerStatus.oidc`. */
const TrustReport = z.object({
  /** Control planes that have it, of all. */
  updated: z.int(),
  total: z.int(),
  message: z.string().optional(),
  requests: z.array(RequestTrustStatus),
});
export type TrustReport = z.infer<typeof TrustReport>;

/** What a Cluster says of the trust that it was decided to have; nothing where nobody asks for any. */
export function describeTrustReport(
  trust: TrustDecision,
  record: TrustRecord | undefined,
  roll: TrustRolloutState | undefined,
  total: number,
): { oidc?: TrustReport } {
  if (!record && trust.requests.length === 0) return {};
  const requests = trust.requests.map(({ uid, request, generation }): RequestTrustStatus => {
    const about = { uid, request, generation };
    const refusal = trust.refused.get(uid);
    if (refusal !== undefined) return { ...about, state: 'Refused', message: refusal };
    const failure = trust.failed.get(uid);
    if (failure !== undefined) return { ...about, state: 'Failed', message: failure };
    return { ...about, state: isTrusted(trust, record, uid) ? 'Trusted' : 'Rolling' };
  });
  const updated = record?.complete === false ? (roll?.updated ?? 0) : total;
  return { oidc: { updated, total, ...(roll?.message ? { message: roll.message } : {}), requests } };
}

/** Whether every control plane has what the request asks for now. */
function isTrusted({ entries, waiting }: TrustDecision, record: TrustRecord | undefined, uid: string): boolean {
  const [told, wanted] = [record?.entries ?? [], entries].map((all) => findRequestedTrust(all, uid));
  return !waiting.has(uid) && told?.complete === true && told.wish === wanted?.wish;
}

function findRequestedTrust(
  entries: readonly TrustEntry[],
  uid: string,
): { wish: string; complete: boolean } | undefined {
  const entry = entries.find(({ requests }) => requests.some((request) => request.uid === uid));
  const request = entry?.requests.find((one) => one.uid === uid);
  return entry && request && { wish: hashDesiredTrust(entry, request.clientId), complete: request.complete };
}

/** While nobody can decide, what was decided holds. */
export function retainTrustReport(cluster: Cluster): { oidc?: TrustReport } {
  const oidc = readTrustReport(cluster);
  return oidc ? { oidc } : {};
}

/** What a Cluster says; undefined while it says nothing. */
export function readTrustReport(cluster: Cluster | undefined): TrustReport | undefined {
  const parsed = TrustReport.safeParse(cluster?.status?.providerStatus?.['oidc']);
  return parsed.success ? parsed.data : undefined;
}
