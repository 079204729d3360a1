import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { hashNames } from '../../../lib/hash.ts';
import type { OidcTrust } from '../../../talos/config/machine-config.ts';

/** Key of the trust record in the Secret of a cluster. Its value is not secret. */
export const trustRecordKey = 'oidc-trust.json';

/** A trusted issuer and the UIDs of the requests for it. */
const TrustEntry = z.strictObject({
  issuer: z.string(),
  usernameClaim: z.string(),
  usernamePrefix: z.string(),
  groupsClaim: z.string(),
  groupsPrefix: z.string(),
  ca: z.string().optional(),
  /** `complete`: every control plane was observed with it since the request was added. */
  requests: z.array(z.strictObject({ uid: z.string(), clientId: z.string(), complete: z.boolean() })),
});
export type TrustEntry = z.infer<typeof TrustEntry>;

/** The desired trust of a request, as {@link hashDesiredTrust}. */
const TrustAttempt = z.strictObject({ uid: z.string(), desired: z.string() });
export type TrustAttempt = z.infer<typeof TrustAttempt>;

/** Written before any node is changed, so that new nodes are created with it and an interrupted rollout continues. */
const TrustRecord = z.strictObject({
  /** Increases with every change: a trust that was removed and added again must be observed again. */
  revision: z.int(),
  entries: z.array(TrustEntry),
  /** UIDs of requests whose trust is being removed. Their finalizers stay until the removal is complete. */
  leaving: z.array(z.string()),
  /** Every control plane was observed with exactly these entries. */
  complete: z.boolean(),
  /** The previous entries for a rollback, as long as this record is not complete. */
  before: z.array(TrustEntry).optional(),
  /** The control plane on which the record is tried first. */
  trial: z.string().optional(),
  /** Nodes were created with it: the cluster was not bootstrapped when it was written. */
  initial: z.boolean().optional(),
  /** The record is a rollback after a failure. */
  takenBack: z.boolean().optional(),
  /** An API server did not start with them: they are not tried again. */
  failed: z.array(TrustAttempt.extend({ machine: z.string() })).optional(),
  /** An API server did not start with one of them: they are tried again one issuer at a time. */
  uncertain: z.array(TrustAttempt).optional(),
});
export type TrustRecord = z.infer<typeof TrustRecord>;

/** The trust record of a cluster; undefined if no issuer was ever trusted. Throws if it is damaged. */
export function readTrustRecord(object: KubeSecret): TrustRecord | undefined {
  const text = object.data?.[trustRecordKey];
  if (text === undefined) return undefined;
  try {
    return TrustRecord.parse(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
  } catch (cause) {
    const message = `Secret ${object.metadata.name}: the value of the key ${trustRecordKey} is invalid. Remove the key.`;
    throw new ProviderError('CLUSTER_SECRETS_DAMAGED', message, { cause });
  }
}

/** Writes the record unless the Secret has changed since it was read. */
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

/** The entries in the form of the node configuration. */
export const toOidcTrust = (entries: readonly TrustEntry[]): OidcTrust[] =>
  entries.map(({ requests, ca, ...settings }) => ({
    ...settings,
    clientIds: [...new Set(requests.map(({ clientId }) => clientId))].sort(),
    ...(ca === undefined ? {} : { ca }),
  }));

/** Hash of eight characters over the entries and the revision. */
export const hashTrustRecord = ({ entries, revision }: TrustRecord): string =>
  hashNames(String(revision), JSON.stringify(toOidcTrust(entries).map((one) => Object.entries(one).sort())));

/** Hash of the desired trust of one request. */
export const hashDesiredTrust = (entry: Omit<TrustEntry, 'requests'>, clientId: string): string =>
  hashNames(
    JSON.stringify([
      ...[entry.issuer, clientId, entry.usernameClaim, entry.usernamePrefix],
      ...[entry.groupsClaim, entry.groupsPrefix, entry.ca ?? ''],
    ]),
  );

/** Whether two lists of entries are equal, apart from their progress. */
export function isSameTrust(a: readonly TrustEntry[], b: readonly TrustEntry[]): boolean {
  const bare = (entries: readonly TrustEntry[]) =>
    entries.map((entry) => ({ ...entry, requests: entry.requests.map(({ uid, clientId }) => ({ uid, clientId })) }));
  return isDeepStrictEqual(bare(a), bare(b));
}

/** UIDs of the requests with a trusted issuer. */
export const listTrustedRequestUids = (entries: readonly TrustEntry[]): string[] =>
  entries.flatMap(({ requests }) => requests.map(({ uid }) => uid));

/** Whether the issuer of this request is trusted. */
export const isTrustedFor = (record: TrustRecord | undefined, uid: string | undefined): boolean =>
  uid !== undefined && listTrustedRequestUids(record?.entries ?? []).includes(uid);

/** Whether a control plane may trust the issuer of this request. */
export const mayBeTrustedFor = (record: TrustRecord | undefined, uid: string | undefined): boolean =>
  isTrustedFor(record, uid) || (uid !== undefined && (record?.leaving.includes(uid) ?? false));
