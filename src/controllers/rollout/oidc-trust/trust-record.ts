import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { hashNames } from '../../../lib/hash.ts';
import type { OidcTrust } from '../../../talos/config/machine-config.ts';

/** Key of the Secret of a cluster under which it stands whom its API servers are to trust. Nothing in it is secret. */
export const trustRecordKey = 'oidc-trust.json';

/** An issuer that is to be trusted, and the requests that want it, by their UIDs. */
const TrustEntry = z.strictObject({
  issuer: z.string(),
  usernameClaim: z.string(),
  usernamePrefix: z.string(),
  groupsClaim: z.string(),
  groupsPrefix: z.string(),
  ca: z.string().optional(),
  /** `complete`: every control plane was seen with it since it was asked for so. */
  requests: z.array(z.strictObject({ uid: z.string(), clientId: z.string(), complete: z.boolean() })),
});
export type TrustEntry = z.infer<typeof TrustEntry>;

/** A wish of a request, by what would be told to nodes: {@link hashDesiredTrust}. */
const TrustAttempt = z.strictObject({ uid: z.string(), wish: z.string() });
export type TrustAttempt = z.infer<typeof TrustAttempt>;

/** Written before any node is changed, so that new nodes are made with it and nobody forgets what was begun. */
const TrustRecord = z.strictObject({
  /** Grows with every change: what was trusted, then not, and then again is to be looked at again. */
  revision: z.int(),
  entries: z.array(TrustEntry),
  /** UIDs of requests for which somebody was trusted and is to be no more: until then they are not let go. */
  leaving: z.array(z.string()),
  /** Every control plane was seen with exactly this. */
  complete: z.boolean(),
  /** What was in force before, to go back to; as long as this is not complete. */
  before: z.array(TrustEntry).optional(),
  /** The control plane that is the first to be given it. */
  trial: z.string().optional(),
  /** Nodes were made with it: the cluster had not been bootstrapped when it was written. */
  initial: z.boolean().optional(),
  /** It is what was in force before another that did not come up. */
  takenBack: z.boolean().optional(),
  /** With them the API server of a control plane did not come up: they are not tried again. */
  failed: z.array(TrustAttempt.extend({ machine: z.string() })).optional(),
  /** Among them is one with which it did not: they are tried again one issuer at a time. */
  doubtful: z.array(TrustAttempt).optional(),
});
export type TrustRecord = z.infer<typeof TrustRecord>;

/** What the Secret says; undefined when nobody was ever trusted. Throws when it is damaged. */
export function readTrustRecord(object: KubeSecret): TrustRecord | undefined {
  const text = object.data?.[trustRecordKey];
  if (text === undefined) return undefined;
  try {
    return TrustRecord.parse(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
  } catch (cause) {
    const message = `Secret ${object.metadata.name}: key ${trustRecordKey} holds nothing that we wrote. Remove the key.`;
    throw new ProviderError('CLUSTER_SECRETS_DAMAGED', message, { cause });
  }
}

/** Writes it down, if nobody wrote meanwhile. */
export async function writeTrustRecord(
  kube: KubeClient,
  object: KubeSecret,
  record: TrustRecord,
  signal: AbortSignal,
): Promise<KubeSecret> {
  const { namespace, name, resourceVersion } = object.metadata;
  const lock = resourceVersion ? { resourceVersion } : {};
  const data = { [trustRecordKey]: Buffer.from(JSON.stringify(record)).toString('base64') };
  return await kube.merge(KubeSecret, { namespace, name }, { data }, lock, signal);
}

/** What nodes are told. */
export const toOidcTrust = (entries: readonly TrustEntry[]): OidcTrust[] =>
  entries.map(({ requests, ca, ...settings }) => ({
    ...settings,
    clientIds: [...new Set(requests.map(({ clientId }) => clientId))].sort(),
    ...(ca === undefined ? {} : { ca }),
  }));

/** Eight characters that stand for what nodes are told, and for which time. */
export const hashTrustRecord = ({ entries, revision }: TrustRecord): string =>
  hashNames(String(revision), JSON.stringify(toOidcTrust(entries).map((one) => Object.entries(one).sort())));

/** Stands for what one request wants to be told to nodes. */
export const hashDesiredTrust = (entry: Omit<TrustEntry, 'requests'>, clientId: string): string =>
  hashNames(
    JSON.stringify([
      ...[entry.issuer, clientId, entry.usernameClaim, entry.usernamePrefix],
      ...[entry.groupsClaim, entry.groupsPrefix, entry.ca ?? ''],
    ]),
  );

/** Whether two lists of entries say the same, how far they have come left aside. */
export function isSameTrust(a: readonly TrustEntry[], b: readonly TrustEntry[]): boolean {
  const bare = (entries: readonly TrustEntry[]) =>
    entries.map((entry) => ({ ...entry, requests: entry.requests.map(({ uid, clientId }) => ({ uid, clientId })) }));
  return isDeepStrictEqual(bare(a), bare(b));
}

/** Requests that somebody is trusted for. */
export const listTrustedRequestUids = (entries: readonly TrustEntry[]): string[] =>
  entries.flatMap(({ requests }) => requests.map(({ uid }) => uid));

/** Whether anybody is trusted for this request. */
export const isTrustedFor = (record: TrustRecord | undefined, uid: string | undefined): boolean =>
  uid !== undefined && listTrustedRequestUids(record?.entries ?? []).includes(uid);

/** Whether there may be a control plane that trusts somebody for this request. */
export const mayBeTrustedFor = (record: TrustRecord | undefined, uid: string | undefined): boolean =>
  isTrustedFor(record, uid) || (uid !== undefined && (record?.leaving.includes(uid) ?? false));
