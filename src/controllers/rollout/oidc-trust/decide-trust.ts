import type { AccessRequest } from '../../../api/openmcp/types.ts';
import { findFieldUnfitForArguments } from '../../../talos/config/machine-config.ts';
import { chooseDesiredTrust, type DesiredTrustWithCa } from './choose-desired-trust.ts';
import { type DesiredTrust, toDesiredTrust, trustFieldNames, validateDesiredTrust } from './desired-trust.ts';
import { isTrustedFor, listTrustedRequestUids, type TrustEntry, type TrustRecord } from './trust-record.ts';

/** The input of the trust decision for a cluster. */
export interface TrustView {
  readonly record: TrustRecord | undefined;
  /** The requests for the Cluster that have `spec.oidc` and are not in deletion. */
  readonly requests: readonly AccessRequest[];
  /** Whether its control planes support more than one issuer. */
  readonly many: boolean;
  /** CA certificates (PEM) by issuer. */
  readonly authorities: ReadonlyMap<string, string>;
  /** Where CA certificates are files: whether every control plane has this one. */
  hasFile(authority: string): boolean;
  /**
   * The issuers of the cluster's own ServiceAccount tokens: an API server that is configured to trust one of them again
   * does not start.
   */
  readonly ownIssuers: readonly string[];
  /** The field of the ProviderConfig that already configures the authentication of API servers. */
  readonly usedIssuers: string | undefined;
  readonly config: string;
}

export interface TrustDecision {
  readonly entries: readonly TrustEntry[];
  /** The requests of this decision with their names and generations. */
  readonly requests: readonly { readonly uid: string; readonly request: string; readonly generation: number }[];
  /** Messages by UID of the request. */
  readonly refused: ReadonlyMap<string, string>;
  /** Why an accepted trust is not in force, as messages by UID of the request. */
  readonly failed: ReadonlyMap<string, string>;
  /** UIDs of the requests whose trust is applied later. */
  readonly waiting: ReadonlySet<string>;
  /** The ProviderConfig itself configures the authentication of API servers. */
  readonly isTaken: boolean;
}

const maxIssuers = 64;

/**
 * Decides the OIDC issuers that a cluster trusts. Whether two requests are compatible depends only on their content,
 * not on their order: before Talos 1.14 they need the same issuer and the same client, and two issuers need prefixes of
 * which neither begins with the other. Of two incompatible requests, the trusted one stays, otherwise the older one.
 * The other is rejected with the reason.
 */
export function decideTrust(view: TrustView): TrustDecision {
  const entries: TrustEntry[] = [];
  const requests = view.requests.map(toDecidedRequest);
  const names = new Map(requests.map(({ uid, request }) => [uid, request]));
  const refused = new Map<string, string>();
  const failed = new Map<string, string>();
  const waiting = new Set<string>();
  let turn: string | undefined;
  for (const request of sortByPrecedence(view)) {
    const { uid = '' } = request.metadata;
    if (!request.spec.oidc) continue;
    const requested = toDesiredTrust(request.spec.oidc);
    const choice = chooseDesiredTrust(view.record, uid, { ...requested, ca: chooseCa(view, requested.issuer) }, turn);
    if (choice.failed !== undefined) failed.set(uid, choice.failed);
    if (choice.waiting) waiting.add(uid);
    const { desired } = choice;
    if (!desired) continue;
    const holder = (entry: TrustEntry): string => names.get(entry.requests[0]?.uid ?? '') ?? '';
    const rejection = findRejection(request, desired, entries, view, holder);
    if (rejection !== undefined) refused.set(uid, rejection);
    else {
      addToEntries(entries, view, uid, desired);
      if (choice.isNext) turn = desired.issuer;
    }
  }
  return { entries, requests, refused, failed, waiting, isTaken: view.usedIssuers !== undefined };
}

const toDecidedRequest = ({ metadata }: AccessRequest): TrustDecision['requests'][number] => ({
  uid: metadata.uid ?? '',
  request: `${metadata.namespace}/${metadata.name}`,
  generation: metadata.generation ?? 0,
});

/** The decision for a cluster whose trust is not changed. */
export const rejectAllTrust = (all: readonly AccessRequest[], message: string): TrustDecision => ({
  ...{ entries: [], requests: all.map(toDecidedRequest), failed: new Map(), waiting: new Set(), isTaken: true },
  refused: new Map(all.map(({ metadata }) => [metadata.uid ?? '', message])),
});

/**
 * Trusted requests with an unchanged trust in the order of the record, then the other trusted ones, then the rest by
 * age.
 */
function sortByPrecedence({ record, requests }: TrustView): AccessRequest[] {
  const trusted = listTrustedRequestUids(record?.entries ?? []);
  const rank = ({ metadata, spec }: AccessRequest): number => {
    const place = trusted.indexOf(metadata.uid ?? '');
    if (place < 0) return 2 * trusted.length;
    const entry = record?.entries.find((one) => one.requests.some(({ uid }) => uid === metadata.uid));
    return entry && spec.oidc && findDifferingField(entry, toDesiredTrust(spec.oidc)) === undefined
      ? place
      : trusted.length + place;
  };
  const age = ({ metadata }: AccessRequest): string => `${metadata.creationTimestamp} ${metadata.uid}`;
  return [...requests].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1));
}

/** The first field in which a request differs from the trusted settings of its issuer. */
function findDifferingField(entry: TrustEntry, desired: DesiredTrust): keyof typeof trustFieldNames | undefined {
  const keys = ['issuer', 'usernameClaim', 'usernamePrefix', 'groupsClaim', 'groupsPrefix'] as const;
  return keys.find((key) => entry[key] !== desired[key]);
}

function findRejection(
  { spec, metadata }: AccessRequest,
  desired: DesiredTrust,
  entries: readonly TrustEntry[],
  view: TrustView,
  holder: (entry: TrustEntry) => string,
): string | undefined {
  const mistakes = spec.oidc ? validateDesiredTrust(spec.oidc, { hasUserRules: view.many }) : [];
  if (mistakes.length > 0) return mistakes.join(' ');
  if (view.usedIssuers && !isTrustedFor(view.record, metadata.uid))
    return `spec.oidc: ProviderConfig ${view.config} configures the trusted issuers of the API servers (${view.usedIssuers}). Remove that configuration, or use spec.token.`;
  if (view.ownIssuers.includes(desired.issuer))
    return `spec.oidc.issuer: ${desired.issuer} is the ServiceAccount issuer of the cluster. Use another issuer.`;
  const same = entries.find((entry) => entry.issuer === desired.issuer);
  if (same) return findSameIssuerRejection(same, desired, view, holder(same));
  return findNewIssuerRejection(desired, entries, view, holder);
}

function findSameIssuerRejection(
  entry: TrustEntry,
  desired: DesiredTrust,
  view: TrustView,
  holder: string,
): string | undefined {
  const field = findDifferingField(entry, desired);
  if (field !== undefined)
    return `spec.oidc.${trustFieldNames[field]}: AccessRequest ${holder} has ${JSON.stringify(entry[field as keyof DesiredTrust & keyof TrustEntry])} for the same issuer. Use the same value, or delete that AccessRequest.`;
  const other = entry.requests.find(({ clientId }) => clientId !== desired.clientId);
  if (view.many || !other) return undefined;
  return `spec.oidc.clientID: before Talos 1.14 a cluster supports one client for an issuer, and AccessRequest ${holder} uses ${other.clientId}. Use the same client, or a cluster with Talos 1.14.`;
}

function findNewIssuerRejection(
  desired: DesiredTrust,
  entries: readonly TrustEntry[],
  view: TrustView,
  holder: (entry: TrustEntry) => string,
): string | undefined {
  const [first] = entries;
  if (first && !view.many)
    return `spec.oidc.issuer: before Talos 1.14 a cluster supports one OIDC issuer, and AccessRequest ${holder(first)} uses ${first.issuer}. Delete that AccessRequest, or use a cluster with Talos 1.14.`;
  if (entries.length >= maxIssuers)
    return `spec.oidc.issuer: the cluster trusts ${maxIssuers} issuers, the maximum of Kubernetes. Delete another AccessRequest.`;
  for (const key of ['usernamePrefix', 'groupsPrefix'] as const) {
    const other = entries.find((entry) => desired[key].startsWith(entry[key]) || entry[key].startsWith(desired[key]));
    if (other)
      return `spec.oidc.${key}: with ${JSON.stringify(desired[key])} this issuer could impersonate users of ${other.issuer}, for which AccessRequest ${holder(other)} has ${JSON.stringify(other[key])}. Choose another prefix: neither may begin with the other.`;
  }
  return view.many ? undefined : findArgumentsRejection(desired, view);
}

function findArgumentsRejection(desired: DesiredTrust, view: TrustView): string | undefined {
  const ca = view.authorities.get(desired.issuer);
  const isTrusted = view.record?.entries.some(({ issuer }) => issuer === desired.issuer);
  if (ca !== undefined && !isTrusted && !view.hasFile(ca))
    return `spec.oidc.issuer: ProviderConfig ${view.config} has a CA for ${desired.issuer} (access.oidcIssuers), which was added after the creation of the control planes of this Cluster. Before Talos 1.14 it only applies to new nodes. Use a new Cluster, or one with Talos 1.14.`;
  const { clientId, ...settings } = desired;
  const unfit = findFieldUnfitForArguments({ ...settings, clientIds: [clientId] });
  if (unfit === undefined) return undefined;
  const field = unfit === 'clientIds' || unfit === 'ca' ? 'clientID' : trustFieldNames[unfit];
  return `spec.oidc.${field}: before Talos 1.14 the value must not contain $, and a prefix must not be a single dash. Use another value, or a cluster with Talos 1.14.`;
}

function addToEntries(entries: TrustEntry[], view: TrustView, uid: string, desired: DesiredTrustWithCa): void {
  const { clientId, ca, ...settings } = desired;
  const before = view.record?.entries.find((entry) => entry.requests.some((request) => request.uid === uid));
  const old = before?.requests.find((request) => request.uid === uid);
  const same = before !== undefined && findDifferingField(before, desired) === undefined && old?.clientId === clientId;
  const request = { uid, clientId, complete: same && old.complete };
  const i = entries.findIndex((entry) => entry.issuer === desired.issuer);
  const entry = entries[i];
  if (entry) {
    entries[i] = { ...entry, requests: [...entry.requests, request] };
    return;
  }
  entries.push({ ...settings, ...(ca === undefined ? {} : { ca }), requests: [request] });
}

/** The CA of the ProviderConfig. If the nodes do not have it, because it was added later, the one that they have. */
function chooseCa({ authorities, record, many, hasFile }: TrustView, issuer: string): string | undefined {
  const now = authorities.get(issuer);
  if (many || (now !== undefined && hasFile(now))) return now;
  return record?.entries.find((entry) => entry.issuer === issuer)?.ca;
}
