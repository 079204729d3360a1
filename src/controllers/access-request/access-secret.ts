import { accessSecretName, annotations, labels } from '../../api/names.ts';
import type { AccessRequest } from '../../api/openmcp/types.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { hashNames } from '../../lib/hash.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { ApiServerEndpoint } from './kubeconfig.ts';
import { NotManagedError } from './target-cluster/ensure-access.ts';
import type { SigningKeyIds } from './target-cluster/signing-key-cache.ts';

/** Keys of the Secret beside the AccessRequest; times are Unix seconds as text. */
export const accessSecretKeys = {
  kubeconfig: 'kubeconfig',
  created: 'creationTimestamp',
  expires: 'expirationTimestamp',
} as const;

const opaque = 'Opaque';

/** What a token in a kubeconfig hangs on: when one of these changes, the Secret follows. */
export interface KubeconfigInputs {
  readonly server: ApiServerEndpoint;
  /** UID of the account: a token ends with it, and one made anew under the same name is another. */
  readonly account?: string | undefined;
}

/** As an annotation tells it. */
export const fingerprintInputs = ({ server, account = '' }: KubeconfigInputs): string =>
  hashNames(server.url, server.ca, account);

/** A token lasts ten minutes at least (the API server sees to that), so this is never reached while clocks agree. */
const minRenewalSeconds = 300;

/**
 * Renewed when four fifths of the validity are over, but not at once again: by a clock that is ahead of the cluster's,
 * a new token may be old when it comes.
 */
export const computeRenewalTime = (created: Date, expires: Date): Date =>
  new Date(created.getTime() + Math.max(minRenewalSeconds * 1000, 0.8 * (expires.getTime() - created.getTime())));

/** When the granted token has to be renewed; undefined when there is none that could still be used. */
export function findRenewalDueAt(
  secret: KubeSecret | undefined,
  ground: KubeconfigInputs,
  keys: SigningKeyIds,
  now: Date,
): Date | undefined {
  const created = readTime(secret, accessSecretKeys.created);
  const expires = readTime(secret, accessSecretKeys.expires);
  if (!secret?.data?.[accessSecretKeys.kubeconfig] || !created || !expires) return undefined;
  const { [annotations.server]: mark, [annotations.signingKey]: key } = secret.metadata.annotations ?? {};
  if (mark !== fingerprintInputs(ground)) return undefined;
  if (keys && key !== undefined && !keys.has(key)) return undefined;
  const due = computeRenewalTime(created, expires);
  // It was written by a clock that was ahead and has been set right since: it would say so too late.
  if (now < created && expires <= due) return undefined;
  return due;
}

/** When the granted token ends, whatever it leads to. */
export const readTokenExpiry = (secret: KubeSecret | undefined): Date | undefined =>
  readTime(secret, accessSecretKeys.expires);

function readTime(secret: KubeSecret | undefined, key: string): Date | undefined {
  const text = secret?.data?.[key];
  const seconds = text === undefined ? Number.NaN : Number(Buffer.from(text, 'base64').toString('utf8'));
  return Number.isFinite(seconds) ? new Date(seconds * 1000) : undefined;
}

/** Whether what was granted can still be used, whatever it leads to: a login does not end, a token does. */
export function isAccessUsable(secret: KubeSecret | undefined, now: Date): boolean {
  const expires = readTokenExpiry(secret);
  return secret?.data?.[accessSecretKeys.kubeconfig] !== undefined && (expires === undefined || now < expires);
}

/** Whether a Secret holds exactly this kubeconfig, and no time at which it ends. Keys of others do not matter. */
export const containsOidcKubeconfig = (secret: KubeSecret | undefined, kubeconfig: SecretString): boolean =>
  secret?.data?.[accessSecretKeys.kubeconfig] === encodeBase64(kubeconfig.reveal()) &&
  [accessSecretKeys.created, accessSecretKeys.expires].every((key) => secret.data?.[key] === undefined);

export const isSecretOwnedBy = (secret: KubeSecret, request: AccessRequest): boolean =>
  secret.metadata.ownerReferences?.some((owner) => owner.uid === request.metadata.uid) ?? false;

/** What was granted, and all that its Secret says. */
interface AccessGrant {
  readonly request: AccessRequest;
  readonly provider: string;
  readonly id: string;
  readonly ground: KubeconfigInputs;
  readonly kubeconfig: SecretString;
  /** Id of the key that the token in it is signed with. */
  readonly signingKey?: string | undefined;
  /** Left out where it does not end. */
  readonly lifetime?: { readonly created: Date; readonly expires: Date };
}

/** The Secret belongs to the request, but the API server refuses every change of its data. The message says why. */
export class SecretNotWritableError extends Error {}

/** Throws {@link NotManagedError} or {@link SecretNotWritableError} where the kubeconfig cannot be written into the Secret. */
export function assertSecretWritable(secret: KubeSecret, request: AccessRequest): void {
  const { name, namespace } = secret.metadata;
  const subject = `Secret ${name} in namespace ${namespace}`;
  if (!isSecretOwnedBy(secret, request))
    throw new NotManagedError(
      `Secret ${name} exists in namespace ${namespace} and does not belong to this request. Remove it.`,
    );
  const remedy = 'the kubeconfig cannot be written into it. Remove it, and it is made again.';
  if (secret.immutable === true) throw new SecretNotWritableError(`${subject} is immutable: ${remedy}`);
  const { type = opaque } = secret;
  if (type !== opaque) throw new SecretNotWritableError(`${subject} has the type ${type} and not ${opaque}: ${remedy}`);
}

/**
 * Writes the Secret of a request: creates it, or changes the fields in it that are ours. Labels, annotations, finalizers and
 * keys of others stay, and a foreign Secret of that name is left as it is.
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
    assertSecretWritable(present, request);
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
        [annotations.server]: fingerprintInputs(grant.ground),
        ...(grant.signingKey === undefined ? {} : { [annotations.signingKey]: grant.signingKey }),
      },
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }],
    },
    type: opaque,
    data: {
      [accessSecretKeys.kubeconfig]: encodeBase64(grant.kubeconfig.reveal()),
      ...describeLifetime(grant.lifetime),
    },
  };
}

/** A merge patch to what is wanted: of all that may be ours, what is not wanted any more is removed. */
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
        [accessSecretKeys.created]: encodeBase64(String(Math.floor(lifetime.created.getTime() / 1000))),
        [accessSecretKeys.expires]: encodeBase64(String(Math.floor(lifetime.expires.getTime() / 1000))),
      }
    : {};

const encodeBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/**
 * Takes the Secret of a request away, unless it belongs to somebody else: another request, or, where a `provider` is given,
 * another provider. Missing is success.
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
