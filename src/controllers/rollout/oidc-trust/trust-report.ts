import { z } from 'zod';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { TrustDecision } from './decide-trust.ts';
import type { TrustRolloutState } from './roll-out-trust.ts';
import { hashDesiredTrust, type TrustEntry, type TrustRecord } from './trust-record.ts';

/** The trust status of one request: in force everywhere, being rolled out, rejected, or failed. */
const RequestTrustStatus = z.object({
  uid: z.string(),
  request: z.string(),
  /** The generation of the request that this status applies to. */
  generation: z.int(),
  state: z.enum(['Trusted', 'Rolling', 'Refused', 'Failed']),
  message: z.string().optional(),
});
export type RequestTrustStatus = z.infer<typeof RequestTrustStatus>;

/** The trust status of a Cluster, in `providerStatus.oidc`. */
const TrustReport = z.object({
  /** Number of control planes with the current trust. */
  updated: z.int(),
  total: z.int(),
  message: z.string().optional(),
  requests: z.array(RequestTrustStatus),
});
export type TrustReport = z.infer<typeof TrustReport>;

/** The trust status of a Cluster; empty if no request asks for one. */
export function describeTrustReport(
  trust: TrustDecision,
  record: TrustRecord | undefined,
  rollout: TrustRolloutState | undefined,
  total: number,
): { oidc?: TrustReport } {
  if (!record && trust.requests.length === 0) return {};
  const requests = trust.requests.map(({ uid, request, generation }): RequestTrustStatus => {
    const about = { uid, request, generation };
    const rejection = trust.refused.get(uid);
    if (rejection !== undefined) return { ...about, state: 'Refused', message: rejection };
    const failure = trust.failed.get(uid);
    if (failure !== undefined) return { ...about, state: 'Failed', message: failure };
    return { ...about, state: isTrusted(trust, record, uid) ? 'Trusted' : 'Rolling' };
  });
  const updated = record?.complete === false ? (rollout?.updated ?? 0) : total;
  return { oidc: { updated, total, ...(rollout?.message ? { message: rollout.message } : {}), requests } };
}

/** Whether every control plane has the current desired trust of the request. */
function isTrusted({ entries, waiting }: TrustDecision, record: TrustRecord | undefined, uid: string): boolean {
  const [recorded, wanted] = [record?.entries ?? [], entries].map((all) => findRequestedTrust(all, uid));
  return !waiting.has(uid) && recorded?.complete === true && recorded.desired === wanted?.desired;
}

function findRequestedTrust(
  entries: readonly TrustEntry[],
  uid: string,
): { desired: string; complete: boolean } | undefined {
  const entry = entries.find(({ requests }) => requests.some((request) => request.uid === uid));
  const request = entry?.requests.find((one) => one.uid === uid);
  return entry && request && { desired: hashDesiredTrust(entry, request.clientId), complete: request.complete };
}

/** Keeps the last report while no decision is possible. */
export function retainTrustReport(cluster: Cluster): { oidc?: TrustReport } {
  const oidc = readTrustReport(cluster);
  return oidc ? { oidc } : {};
}

/** The report in the status of a Cluster; undefined if there is none. */
export function readTrustReport(cluster: Cluster | undefined): TrustReport | undefined {
  const parsed = TrustReport.safeParse(cluster?.status?.providerStatus?.['oidc']);
  return parsed.success ? parsed.data : undefined;
}
