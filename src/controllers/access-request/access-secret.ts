import { accessSecretName, annotations, labels } from '../../api/names.ts';
import type { AccessRequest } from '../../api/openmcp/types.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { hashNames } from '../../lib/hash.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';
import type { ApiServerEndpoint } from './kubeconfig.ts';
import { NotManagedError } from './target-cluster/rejection-collector.ts';
import type { SigningKeyIds } from './target-cluster/signing-key-cache.ts';

/** Keys of the Secret beside the AccessRequest. Times are Unix seconds as text. */
export const accessSecretKeys = {
  kubeconfig: 'kubeconfig',
  created: 'creationTimestamp',
  expires: 'expirationTimestamp',
} as const;

const opaque = 'Opaque';

/** The inputs of a kubeconfig with a token. A change of one of them replaces the token. */
export interface KubeconfigInputs {
  readonly server: ApiServerEndpoint;
  /** UID of the account: its tokens end with it, and an account created again under the same name has another UID. */
  readonly account?: string | undefined;
}

/** The inputs as the value of an annotation. */
export const fingerprintInputs = ({ server, account = '' }: KubeconfigInputs): string =>
  hashNames(server.url, server.ca, account);

/** The API server issues tokens for at least ten minutes, so this limit has no effect while the clocks agree. */
const minRenewalSeconds = 300;

/**
 * A token is renewed after four fifths of its validity. The minimum prevents renewal in a loop: if our clock is ahead
 * of the cluster's, a new token may already look old.
 */
export const computeRenewalTime = (created: Date, expires: Date): Date =>
  new Date(created.getTime() + Math.max(minRenewalSeconds * 1000, 0.8 * (expires.getTime() - created.getTime())));

/** When to renew the granted token; undefined if there is no usable token. */
export function findRenewalDueAt(
  secret: KubeSecret | undefined,
  inputs: KubeconfigInputs,
  keys: SigningKeyIds,
  now: Date,
): Date | undefined {
  if (!secret?.data?.[accessSecretKeys.kubeconfig]) return undefined;
  const created = readTime(secret, accessSecretKeys.created);
  const expires = readTime(secret, accessSecretKeys.expires);
  return findTokenRenewalDueAt(
    { ...{ created, expires }, annotations: secret.metadata.annotations },
    inputs,
    keys,
    now,
  );
}

/** What is stored with a token: when it was issued and expires, and the annotations of the Secret. */
interface StoredToken {
  readonly created: Date | undefined;
  readonly expires: Date | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** When to renew a token; undefined if it is not usable with these inputs. */
export function findTokenRenewalDueAt(
  { created, expires, annotations: notes = {} }: StoredToken,
  inputs: KubeconfigInputs,
  keys: SigningKeyIds,
  now: Date,
): Date | undefined {
  if (!created || !expires) return undefined;
  const { [annotations.server]: mark, [annotations.signingKey]: key } = notes;
  if (mark !== fingerprintInputs(inputs)) return undefined;
  if (keys && key !== undefined && !keys.has(key)) return undefined;
  const due = computeRenewalTime(created, expires);
  // The clock that wrote the token was ahead and has been corrected since: the renewal time would be too late.
  if (now < created && expires <= due) return undefined;
  return due;
}

/** When the granted token expires, without a check of its inputs. */
export const readTokenExpiry = (secret: KubeSecret | undefined): Date | undefined =>
  readTime(secret, accessSecretKeys.expires);

function readTime(secret: KubeSecret | undefined, key: string): Date | undefined {
  const text = secret?.data?.[key];
  const seconds = text === undefined ? Number.NaN : Number(Buffer.from(text, 'base64').toString('utf8'));
  return Number.isFinite(seconds) ? new Date(seconds * 1000) : undefined;
}

/** Whether the granted access is usable, without a check of its inputs. A token expires, an OIDC login does not. */
export function isAccessUsable(secret: KubeSecret | undefined, now: Date): boolean {
  const expires = readTokenExpiry(secret);
  return secret?.data?.[accessSecretKeys.kubeconfig] !== undefined && (expires === undefined || now < expires);
}

/** Whether a Secret holds exactly this kubeconfig and no expiry. Keys of other writers do not matter. */
export const containsOidcKubeconfig = (secret: KubeSecret | undefined, kubeconfig: SecretString): boolean =>
  secret?.data?.[accessSecretKeys.kubeconfig] === toBase64(kubeconfig.reveal()) &&
  [accessSecretKeys.created, accessSecretKeys.expires].every((key) => secret.data?.[key] === undefined);

export const isSecretOwnedBy = (secret: KubeSecret, request: AccessRequest): boolean =>
  secret.metadata.ownerReferences?.some((owner) => owner.uid === request.metadata.uid) ?? false;

/** The granted access and its metadata. */
interface AccessGrant {
  readonly request: AccessRequest;
  readonly provider: string;
  readonly id: string;
  readonly inputs: KubeconfigInputs;
  readonly kubeconfig: SecretString;
  /** Id of the key that signs the token. */
  readonly signingKey?: string | undefined;
  /** Undefined for access that does not expire. */
  readonly lifetime?: { readonly created: Date; readonly expires: Date };
}

/**
 * The Secret belongs to the request, but the API server rejects every change of its data. The message gives the reason.
 */
export class SecretNotWritableError extends Error {}

/** Why the kubeconfig cannot be written to the Secret; undefined if it can. */
export function findSecretWriteProblem(
  secret: KubeSecret,
  request: AccessRequest,
): NotManagedError | SecretNotWritableError | undefined {
  const { name, namespace } = secret.metadata;
  const subject = `Secret ${name} in namespace ${namespace}`;
  if (!isSecretOwnedBy(secret, request))
    return new NotManagedError(
      `Secret ${name} exists in namespace ${namespace} and does not belong to this AccessRequest. Remove it.`,
    );
  const remedy = 'the kubeconfig cannot be written. Remove the Secret; it is created again.';
  if (secret.immutable === true) return new SecretNotWritableError(`${subject} is immutable: ${remedy}`);
  const { type = opaque } = secret;
  return type === opaque
    ? undefined
    : new SecretNotWritableError(`${subject} has the type ${type} instead of ${opaque}: ${remedy}`);
}

/**
 * Creates the Secret of a request, or updates our fields in it. Labels, annotations, finalizers and keys of other
 * writers stay, and a Secret with another owner is not changed.
 */
export async function writeAccessSecret(kube: KubeClient, grant: AccessGrant, signal: AbortSignal): Promise<string> {
  const { request } = grant;
  const ref = { namespace: request.metadata.namespace ?? '', name: request.metadata.name };
  const wanted = describeSecret(grant);
  try {
    await kube.create(KubeSecret, wanted, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const key = { namespace: ref.namespace, name: accessSecretName(ref) };
    const present = await kube.get(KubeSecret, key, signal);
    const problem = findSecretWriteProblem(present, request);
    if (problem) throw problem;
    const { resourceVersion } = present.metadata;
    await kube.merge(KubeSecret, key, describePatch(wanted), resourceVersion ? { resourceVersion } : {}, signal);
  }
  return wanted.metadata.name;
}

function describeSecret(grant: AccessGrant): KubeSecret {
  const { apiVersion, kind, metadata } = grant.request;
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: accessSecretName(ref),
      namespace: ref.namespace,
      labels: { [labels.provider]: grant.provider, [labels.access]: grant.id },
      annotations: {
        [annotations.server]: fingerprintInputs(grant.inputs),
        ...(grant.signingKey === undefined ? {} : { [annotations.signingKey]: grant.signingKey }),
      },
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }],
    },
    type: opaque,
    data: {
      [accessSecretKeys.kubeconfig]: toBase64(grant.kubeconfig.reveal()),
      ...describeLifetime(grant.lifetime),
    },
  };
}

/** A merge patch that also removes our fields that are not desired any more. */
const describePatch = ({ metadata, data }: KubeSecret): object => ({
  metadata: {
    labels: metadata.labels,
    annotations: { ...nullValues(annotations.server, annotations.signingKey), ...metadata.annotations },
  },
  data: { ...nullValues(...Object.values(accessSecretKeys)), ...data },
});

const nullValues = (...keys: readonly string[]): Record<string, null> =>
  Object.fromEntries(keys.map((key) => [key, null]));

const describeLifetime = (lifetime: AccessGrant['lifetime']): Record<string, string> =>
  lifetime
    ? {
        [accessSecretKeys.created]: toBase64(String(Math.floor(lifetime.created.getTime() / 1000))),
        [accessSecretKeys.expires]: toBase64(String(Math.floor(lifetime.expires.getTime() / 1000))),
      }
    : {};

/**
 * Deletes the Secret of a request, unless it belongs to another request or, with `provider` given, to another provider.
 * A missing Secret is success.
 */
export async function deleteAccessSecret(
  kube: KubeClient,
  request: AccessRequest,
  signal: AbortSignal,
  provider?: string,
): Promise<void> {
  const { namespace = '', name } = request.metadata;
  const key = { namespace, name: accessSecretName({ namespace, name }) };
  const secret = await kube.find(KubeSecret, key, signal);
  if (!secret || !isSecretOwnedBy(secret, request)) return;
  if (provider !== undefined && secret.metadata.labels?.[labels.provider] !== provider) return;
  await kube.remove(KubeSecret, key, secret.metadata.uid ? { uid: secret.metadata.uid } : {}, signal);
}
