import { X509Certificate } from 'node:crypto';
import { type ClusterIdentity, clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import { annotations, clusterId, clusterSecretsName, labels } from '../../../api/names.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { isAlreadyExists } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { createWeakCache } from '../../../lib/weak-cache.ts';
import { createSecretsBundle, type SecretsBundle } from '../../../talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle, parseSecretsBundle } from '../../../talos/secrets/secrets-bundle-file.ts';
import { describeForeignSecret } from '../../cluster/ownership.ts';
import { readTrustRecord, type TrustRecord } from '../../rollout/oidc-trust/trust-record.ts';

/** Key of the Secret under which the bundle lies, in the form that `talosctl gen secrets` writes. */
export const secretsBundleKey = 'secrets.yaml';

/** The Secret of a cluster that holds what only we may know, and what happened only once. */
export interface ClusterSecrets {
  readonly object: KubeSecret;
  /** Sound, and read again when it is asked for after a while: hold it no longer than it is worked with. */
  readonly bundle: SecretsBundle;
  /** SHA-256 of the certificate of the Talos CA, 64 hexadecimal digits: names the bundle without telling anything of it. */
  readonly talosCa: string;
  /** Machine that etcd is or was bootstrapped on, written before the call is made. */
  readonly bootstrapMachine: string | undefined;
  /** What the node said of its boot and its service etcd right before the last bootstrap call was made. */
  readonly bootstrapRequest: string | undefined;
  /** Set once etcd was seen with members. */
  readonly bootstrappedAt: string | undefined;
  /** URL of the API server, where that became known only with the address of a control plane. Never changed. */
  readonly endpoint: string | undefined;
  /** Kubernetes version that the cluster was made with. */
  readonly kubernetesVersion: string | undefined;
  /** What the names of its nodes begin with, if not with that of the Cluster. */
  readonly nodePrefix: string | undefined;
  /** Whom its API servers are to trust; undefined when nobody ever was. */
  readonly trust: TrustRecord | undefined;
}

/**
 * Reading checks every key against its certificate; objects of the cache are read once. The bundles of a thousand clusters at rest are
 * not kept beside the texts that they were read from.
 */
const parsedSecrets = new WeakMap<KubeSecret, ClusterSecrets>();

/** Reads what an object of that Secret says. Throws a ProviderError when it is damaged. */
export function readClusterSecrets(object: KubeSecret): ClusterSecrets {
  const known = parsedSecrets.get(object);
  if (known) return known;
  const secrets = parseClusterSecrets(object);
  parsedSecrets.set(object, secrets);
  return secrets;
}

function parseClusterSecrets(object: KubeSecret): ClusterSecrets {
  const bundle = createWeakCache(() => readBundle(object));
  // A damaged one is told of here, and not to whoever needs it first.
  const talosCa = sha256FingerprintOf(bundle().authorities.os.certificate);
  const notes = object.metadata.annotations ?? {};
  return {
    object,
    get bundle() {
      return bundle();
    },
    talosCa,
    bootstrapMachine: notes[annotations.bootstrapMachine],
    bootstrapRequest: notes[annotations.bootstrapRequest],
    bootstrappedAt: notes[annotations.bootstrappedAt],
    endpoint: notes[annotations.endpoint],
    kubernetesVersion: notes[annotations.kubernetesVersion],
    nodePrefix: notes[annotations.nodePrefix],
    trust: readTrustRecord(object),
  };
}

const sha256FingerprintOf = (certificate: string): string =>
  new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();

function readBundle(object: KubeSecret): SecretsBundle {
  const text = object.data?.[secretsBundleKey];
  if (!text) {
    throw new ProviderError(
      'CLUSTER_SECRETS_DAMAGED',
      `Secret ${object.metadata.name} has no key ${secretsBundleKey}. Restore it from a backup.`,
    );
  }
  return parseSecretsBundle(new SecretString(Buffer.from(text, 'base64').toString('utf8')));
}

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
 * Makes the secrets of a cluster before anything uses them, or reads those that are there. They are never made anew
 * while the object exists: the bundle is the identity of the cluster. Throws NAME_COLLISION where they are those of another one.
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
    data: { [secretsBundleKey]: Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') },
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

/** Writes something down that happened to the cluster, before or after it did. */
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
