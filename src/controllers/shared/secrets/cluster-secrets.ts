import { X509Certificate } from 'node:crypto';
import { type ClusterIdentity, clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import { annotations, clusterId, clusterSecretsName, labels } from '../../../api/names.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { isAlreadyExists } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { shortHash } from '../../../lib/hash.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import { memoizeByObject } from '../../../lib/memoize-by-object.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { createWeakCache } from '../../../lib/weak-cache.ts';
import {
  type AuthorityRotation,
  formatRotation,
  parseRotation,
  type RotationState,
  withRotation,
} from '../../../talos/secrets/authority-rotation.ts';
import type { KeyPair } from '../../../talos/secrets/certificates.ts';
import { toBase64 } from '../../../talos/secrets/pem.ts';
import { createSecretsBundle, type SecretsBundle } from '../../../talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle, parseSecretsBundle } from '../../../talos/secrets/secrets-bundle-file.ts';
import { describeForeignSecret } from '../../cluster/describe-foreign-object.ts';
import { readTrustRecord, type TrustRecord } from '../../rollout/oidc-trust/trust-record.ts';

/** Key of the bundle in the Secret, in the format of `talosctl gen secrets`. */
export const secretsBundleKey = 'secrets.yaml';
/** Key of the rotation of a certificate authority, while there is one. */
export const rotationKey = 'rotation.yaml';

/** The content of a cluster's Secret: its keys, and the record of actions that happen only once. */
export interface ClusterSecrets {
  readonly object: KubeSecret;
  /**
   * Validated, and as nodes and clients use it in the present phase of a rotation. It is parsed again when it is read after
   * a while: do not hold it longer than needed.
   */
  readonly bundle: SecretsBundle;
  /**
   * SHA-256 of the Talos CA certificate, 64 hexadecimal digits. It identifies the bundle without revealing any of it.
   */
  readonly talosCa: string;
  /** The same of the Kubernetes CA. */
  readonly kubernetesCa: string;
  /** The authority that is being rotated. */
  readonly rotation: AuthorityRotation | undefined;
  /** Hash of the authorities that the nodes have and accept: another one means another configuration of every node. */
  readonly authorities: string;
  /** When each authority ends. */
  readonly expiries: Readonly<Record<keyof SecretsBundle['authorities'], Date>>;
  /** Machine on which etcd is or was bootstrapped, recorded before the call. */
  readonly bootstrapMachine: string | undefined;
  /** The node's boot id and the state of its etcd service right before the last bootstrap call. */
  readonly bootstrapRequest: string | undefined;
  /** Set once etcd was observed with members. */
  readonly bootstrappedAt: string | undefined;
  /** URL of the API server, if it depends on the address of a control plane. Never changed. */
  readonly endpoint: string | undefined;
  /** Kubernetes version with which the cluster was created. */
  readonly kubernetesVersion: string | undefined;
  /** The prefix of its node names, if it is not the name of the Cluster. */
  readonly nodePrefix: string | undefined;
  /** The OIDC trust of its API servers; undefined if there never was any. */
  readonly trust: TrustRecord | undefined;
}

/**
 * Parses the Secret. Throws a ProviderError if it is damaged. Parsing verifies every key against its certificate, so each
 * cached object is parsed once. The bundles of idle clusters are not kept in addition to their source text.
 */
export const readClusterSecrets: (object: KubeSecret) => ClusterSecrets = memoizeByObject(parseClusterSecrets);

function parseClusterSecrets(object: KubeSecret): ClusterSecrets {
  const rotation = readRotation(object);
  const bundle = createWeakCache(() => withRotation(readBundle(object), rotation));
  // Parsed here, so that a damaged bundle fails at once and not at its first use.
  const { authorities, accepted = {} } = bundle();
  const talosCa = fingerprintOf(authorities.os.certificate);
  const kubernetesCa = fingerprintOf(authorities.kubernetes.certificate);
  const notes = object.metadata.annotations ?? {};
  return {
    object,
    get bundle() {
      return bundle();
    },
    talosCa,
    kubernetesCa,
    rotation,
    authorities: shortHash(JSON.stringify([talosCa, kubernetesCa, accepted])),
    expiries: {
      etcd: expiryOf(authorities.etcd),
      kubernetes: expiryOf(authorities.kubernetes),
      aggregator: expiryOf(authorities.aggregator),
      os: expiryOf(authorities.os),
    },
    bootstrapMachine: notes[annotations.bootstrapMachine],
    bootstrapRequest: notes[annotations.bootstrapRequest],
    bootstrappedAt: notes[annotations.bootstrappedAt],
    endpoint: notes[annotations.endpoint],
    kubernetesVersion: notes[annotations.kubernetesVersion],
    nodePrefix: notes[annotations.nodePrefix],
    trust: readTrustRecord(object),
  };
}

/** Fingerprint of the Talos CA in a Secret; undefined if the Secret is not valid. */
export function findTalosCa(secret: KubeSecret): string | undefined {
  try {
    return readClusterSecrets(secret).talosCa;
  } catch (error) {
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

/** SHA-256 of a certificate, 64 hexadecimal digits. */
export const fingerprintOf = (certificate: string): string =>
  new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();

const expiryOf = ({ certificate }: KeyPair): Date => new Date(new X509Certificate(certificate).validTo);

function readRotation({ data }: KubeSecret): AuthorityRotation | undefined {
  const text = data?.[rotationKey];
  return text ? parseRotation(new SecretString(Buffer.from(text, 'base64').toString('utf8'))) : undefined;
}

/**
 * Identifies what everything that follows from certificates and keys follows from. Other changes of the Secret leave it as
 * it is. Objects in a cache are immutable, so each is read once.
 */
export const hashAuthorities = memoizeByObject(({ data }: KubeSecret): string =>
  shortHash([data?.[secretsBundleKey] ?? '', data?.[rotationKey] ?? ''].join()),
);

function readBundle(object: KubeSecret): SecretsBundle {
  const text = object.data?.[secretsBundleKey];
  if (!text) {
    throw new ProviderError(
      'CLUSTER_SECRETS_DAMAGED',
      `Secret ${object.metadata.name} has no key ${secretsBundleKey}. Restore it from a backup.`,
    );
  }
  const hash = shortHash(text);
  const decoded = new SecretString(Buffer.from(text, 'base64').toString('utf8'));
  const bundle = parseSecretsBundle(decoded, { isVerified: verifiedTexts.get(hash) === true });
  verifiedTexts.set(hash, true);
  return bundle;
}

/** Hashes of the last bundles whose keys were verified. Most writes of a Secret, and of other objects, leave the bundle as it is. */
const verifiedTexts = new LruMap<string, true>(5000);

export interface DesiredClusterSecrets {
  /** The provider's own. */
  readonly namespace: string;
  readonly provider: string;
  readonly cluster: ClusterIdentity;
  readonly kubernetesVersion: string;
  readonly nodePrefix: string | undefined;
  readonly now: Date;
}

/**
 * Creates the secrets of a cluster before their first use, or reads the existing ones. They are never replaced while
 * the object exists, except by a rotation: the bundle is the identity of the cluster. Throws NAME_COLLISION if they belong to another
 * cluster.
 */
export async function ensureClusterSecrets(
  kube: KubeClient,
  wanted: DesiredClusterSecrets,
  signal: AbortSignal,
): Promise<ClusterSecrets> {
  const key = { namespace: wanted.namespace, name: clusterSecretsName(wanted.cluster) };
  const found = await kube.find(KubeSecret, key, signal);
  if (found) return readClusterSecrets(assertOwnedSecret(found, wanted.cluster));
  const bundle = await createSecretsBundle({ now: wanted.now });
  const object: KubeSecret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...key,
      labels: { [labels.provider]: wanted.provider, [labels.cluster]: clusterId(wanted.cluster) },
      annotations: {
        ...clusterIdentityAnnotations(wanted.cluster),
        [annotations.kubernetesVersion]: wanted.kubernetesVersion,
        ...(wanted.nodePrefix ? { [annotations.nodePrefix]: wanted.nodePrefix } : {}),
      },
    },
    type: 'Opaque',
    data: { [secretsBundleKey]: toBase64(formatSecretsBundle(bundle).reveal()) },
  };
  try {
    return readClusterSecrets(await kube.create(KubeSecret, object, signal));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return readClusterSecrets(assertOwnedSecret(await kube.get(KubeSecret, key, signal), wanted.cluster));
  }
}

function assertOwnedSecret(object: KubeSecret, cluster: ClusterIdentity): KubeSecret {
  const collision = describeForeignSecret(object, cluster);
  if (collision !== undefined) throw new ProviderError('NAME_COLLISION', collision);
  return object;
}

/** Records an action on the cluster, before or after it. */
export async function annotateClusterSecrets(
  kube: KubeClient,
  secrets: ClusterSecrets,
  notes: Record<string, string>,
  signal: AbortSignal,
): Promise<ClusterSecrets> {
  const { namespace, name, resourceVersion } = secrets.object.metadata;
  const lock = resourceVersion ? { resourceVersion } : {};
  const merged = await kube.merge(KubeSecret, { namespace, name }, { metadata: { annotations: notes } }, lock, signal);
  return readClusterSecrets(merged);
}

/** Stores the state of a rotation in one write. Conflicts with every other write of the Secret. */
export async function writeRotation(
  kube: KubeClient,
  { object }: Pick<ClusterSecrets, 'object'>,
  { bundle, rotation }: RotationState,
  signal: AbortSignal,
): Promise<ClusterSecrets> {
  const { namespace, name, resourceVersion } = object.metadata;
  const data = {
    [secretsBundleKey]: toBase64(formatSecretsBundle(bundle).reveal()),
    [rotationKey]: rotation ? toBase64(formatRotation(rotation).reveal()) : null,
  };
  const lock = resourceVersion ? { resourceVersion } : {};
  return readClusterSecrets(await kube.merge(KubeSecret, { namespace, name }, { data }, lock, signal));
}
