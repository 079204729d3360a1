import { accessSecretName, annotations, labels } from '../../api/names.ts';
import type { AccessRequest } from '../../api/openmcp.ts';
import type { KubeClient } from '../../kube/client.ts';
import { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { hash8 } from '../../lib/hash.ts';
import type { Secret } from '../../lib/secret.ts';
import type { ServerIdentity } from './kubeconfig.ts';
import type { SigningKeys } from './signing-keys.ts';
import { NotManaged } from './target.ts';

/** Keys of the Secret beside the AccessRequest; times are Unix seconds as text. */
export const secretKeys = {
  kubeconfig: 'kubeconfig',
  created: 'creationTimestamp',
  expires: 'expirationTimestamp',
} as const;

const opaque = 'Opaque';

/** What a token in a kubeconfig hangs on: when one of these changes, the Secret follows. */
export interface Ground {
  readonly server: ServerIdentity;
  /** UID of the account: a token ends with it, and one made anew under the same name is another. */
  readonly account?: string | undefined;
}

/** As an annotation tells it. */
export const groundMark = ({ server, account = '' }: Ground): string => hash8(server.url, server.ca, account);

/** A token lasts ten minutes at least (the API server sees to that), so this is never reached while clocks agree. */
const soonestSeconds = 300;

/**
 * Renewed when four fifths of the validity are over, but not at once again: by a clock that is ahead of the cluster's,
 * a new token may be old when it comes.
 */
export const renewalAt = (created: Date, expires: Date): Date =>
  new Date(created.getTime() + Math.max(soonestSeconds * 1000, 0.8 * (expires.getTime() - created.getTime())));

/** When the granted token has to be renewed; undefined when there is none that could still be used. */
export function dueAt(secret: KubeSecret | undefined, ground: Ground, keys: SigningKeys, now: Date): Date | undefined {
  const created = readTime(secret, secretKeys.created);
  const expires = readTime(secret, secretKeys.expires);
  if (!secret?.data?.[secretKeys.kubeconfig] || !created || !expires) return undefined;
  const { [annotations.server]: mark, [annotations.signingKey]: key } = secret.metadata.annotations ?? {};
  if (mark !== groundMark(ground)) return undefined;
  if (keys && key !== undefined && !keys.has(key)) return undefined;
  const due = renewalAt(created, expires);
  // It was written by a clock that was ahead and has been set right since: it would say so too late.
  if (now < created && expires <= due) return undefined;
  return due;
}

/** When the granted token ends, whatever it leads to. */
export const expiresAt = (secret: KubeSecret | undefined): Date | undefined => readTime(secret, secretKeys.expires);

function readTime(secret: KubeSecret | undefined, key: string): Date | undefined {
  const text = secret?.data?.[key];
  const seconds = text === undefined ? Number.NaN : Number(Buffer.from(text, 'base64').toString('utf8'));
  return Number.isFinite(seconds) ? new Date(seconds * 1000) : undefined;
}

/** Whether what was granted can still be used, whatever it leads to: a login does not end, a token does. */
export function isUsable(secret: KubeSecret | undefined, now: Date): boolean {
  const expires = expiresAt(secret);
  return secret?.data?.[secretKeys.kubeconfig] !== undefined && (expires === undefined || now < expires);
}

/** Whether a Secret holds exactly this kubeconfig, and no time at which it ends. Keys of others do not matter. */
export const holdsLogin = (secret: KubeSecret | undefined, kubeconfig: Secret): boolean =>
  secret?.data?.[secretKeys.kubeconfig] === encode(kubeconfig.reveal()) &&
  [secretKeys.created, secretKeys.expires].every((key) => secret.data?.[key] === undefined);

export const isOwnedBy = (secret: KubeSecret, request: AccessRequest): boolean =>
  secret.metadata.ownerReferences?.some((owner) => owner.uid === request.metadata.uid) ?? false;

/** What was granted, and all that its Secret says. */
interface Granted {
  readonly request: AccessRequest;
  readonly provider: string;
  readonly id: string;
  readonly ground: Ground;
  readonly kubeconfig: Secret;
  /** Id of the key that the token in it is signed with. */
  readonly signingKey?: string | undefined;
  /** Left out where it does not end. */
  readonly lifetime?: { readonly created: Date; readonly expires: Date };
}

/** The Secret belongs to the request, but the API server refuses every change of its data. The message says why. */
export class NotWritable extends Error {}

/** Throws {@link NotManaged} or {@link NotWritable} where the kubeconfig cannot be written into the Secret. */
export function assertWritable(secret: KubeSecret, request: AccessRequest): void {
  const { name, namespace } = secret.metadata;
  const subject = `Secret ${name} in namespace ${namespace}`;
  if (!isOwnedBy(secret, request))
    throw new NotManaged(
      `Secret ${name} exists in namespace ${namespace} and does not belong to this request. Remove it.`,
    );
  const remedy = 'the kubeconfig cannot be written into it. Remove it, and it is made again.';
  if (secret.immutable === true) throw new NotWritable(`${subject} is immutable: ${remedy}`);
  const { type = opaque } = secret;
  if (type !== opaque) throw new NotWritable(`${subject} has the type ${type} and not ${opaque}: ${remedy}`);
}

/**
 * Writes the Secret of a request: creates it, or changes the fields in it that are ours. Labels, annotations, finalizers and
 * keys of others stay, and a foreign Secret of that name is left as it is.
 */
export async function writeAccessSecret(kube: KubeClient, grant: Granted, signal: AbortSignal): Promise<string> {
  const { request } = grant;
  const ref = { namespace: request.metadata.namespace ?? '', name: request.metadata.name };
  const wanted = describeSecret(grant);
  try {
    await kube.create(KubeSecret, wanted, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const key = { namespace: ref.namespace, name: accessSecretName(ref) };
    const present = await kube.get(KubeSecret, key, signal);
    assertWritable(present, request);
    const { resourceVersion } = present.metadata;
    await kube.merge(KubeSecret, key, describeChange(wanted), resourceVersion ? { resourceVersion } : {}, signal);
  }
  return wanted.metadata.name;
}

function describeSecret(grant: Granted): KubeSecret {
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
        [annotations.server]: groundMark(grant.ground),
        ...(grant.signingKey === undefined ? {} : { [annotations.signingKey]: grant.signingKey }),
      },
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }],
    },
    type: opaque,
    data: {
      [secretKeys.kubeconfig]: encode(grant.kubeconfig.reveal()),
      ...describeLifetime(grant.lifetime),
    },
  };
}

/** A merge patch to what is wanted: of all that may be ours, what is not wanted any more is removed. */
const describeChange = ({ metadata, data }: KubeSecret): object => ({
  metadata: {
    labels: metadata.labels,
    annotations: { ...removed(annotations.server, annotations.signingKey), ...metadata.annotations },
  },
  data: { ...removed(...Object.values(secretKeys)), ...data },
});

const removed = (...keys: readonly string[]): Record<string, null> =>
  Object.fromEntries(keys.map((key) => [key, null]));

const describeLifetime = (lifetime: Granted['lifetime']): Record<string, string> =>
  lifetime
    ? {
        [secretKeys.created]: encode(String(Math.floor(lifetime.created.getTime() / 1000))),
        [secretKeys.expires]: encode(String(Math.floor(lifetime.expires.getTime() / 1000))),
      }
    : {};

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/**
 * Takes the Secret of a request away, unless it belongs to somebody else: another request, or, where a `provider` is given,
 * another provider. Missing is success.
 */
export async function removeAccessSecret(
  kube: KubeClient,
  request: AccessRequest,
  signal: AbortSignal,
  provider?: string,
): Promise<void> {
  const { namespace = '', name } = request.metadata;
  const key = { namespace, name: accessSecretName({ namespace, name }) };
  const secret = await kube.find(KubeSecret, key, signal);
  if (!secret || !isOwnedBy(secret, request)) return;
  if (provider !== undefined && secret.metadata.labels?.[labels.provider] !== provider) return;
  await kube.remove(KubeSecret, key, secret.metadata.uid ? { uid: secret.metadata.uid } : {}, signal);
}
