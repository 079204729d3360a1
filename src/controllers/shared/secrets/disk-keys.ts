import { randomBytes } from 'node:crypto';
import {
  belongsToCluster,
  type ClusterIdentity,
  clusterIdentityAnnotations,
  describeClusterOwner,
  readClusterIdentity,
} from '../../../api/cluster-identity.ts';
import { annotations, diskKeySecretName, labels } from '../../../api/names.ts';
import type { MachineDiskKey } from '../../../engine/machine-disk-key.ts';
import { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { isAlreadyExists } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import type { Services } from '../services.ts';

/** Key of the passphrase in the Secret. */
export const diskPassphraseKey = 'passphrase';

type DiskKeyServices = Pick<Services, 'namespace' | 'provider'> & {
  readonly kube: Pick<Services['kube'], 'find' | 'get' | 'create' | 'remove'>;
  readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
};

/**
 * The disk key of a Machine, in a Secret of the provider's namespace. The Machine does not own the Secret: a forced
 * deletion would also delete the key, and its disks could never be opened again. `cluster` is the Cluster of the
 * Machine: a key of another Cluster, e.g. an earlier one of that name, is neither used nor removed. Undefined for
 * orphans.
 */
export function diskKeyOf(
  services: DiskKeyServices,
  machine: string,
  signal: AbortSignal,
  cluster?: ClusterIdentity,
): MachineDiskKey {
  const { kube, stores, namespace, provider } = services;
  const key = { namespace, name: diskKeySecretName(machine) };
  const place = `Secret ${key.name} in namespace ${namespace}`;
  const isOurs = ({ metadata }: KubeSecret): boolean =>
    metadata.labels?.[labels.provider] === provider &&
    metadata.labels[labels.diskKey] === machine &&
    (cluster === undefined || belongsToCluster(metadata, cluster));
  /** The Secret names another Cluster, so it does not open the disks of this Machine. */
  const foreign = ({ metadata }: KubeSecret): ProviderError | undefined => {
    const owner = readClusterIdentity(metadata);
    if (!cluster || !owner || belongsToCluster(metadata, cluster)) return undefined;
    const message = `The ${place} belongs to ${describeClusterOwner(owner)}.`;
    return new ProviderError('NAME_COLLISION', `${message} Remove it once it is not needed.`);
  };
  /** A Secret that this provider did not create is not used for new disks: its key may be known to others. */
  const ours = (object: KubeSecret): KubeSecret => {
    if (isOurs(object)) return object;
    throw foreign(object) ?? new ProviderError('OWNED_BY_OTHERS', `It is the ${place}. Rename or remove it.`);
  };
  const passphraseIn = ({ data }: KubeSecret): SecretString => {
    const text = Buffer.from(data?.[diskPassphraseKey] ?? '', 'base64')
      .toString('utf8')
      .trim();
    if (text === '') throw diskKeyMissing(`The ${place} has no key ${diskPassphraseKey}.`);
    return new SecretString(text);
  };
  return {
    location: place,
    isKept: () => {
      const found = stores.secrets.get(key);
      return found?.data?.[diskPassphraseKey] !== undefined && foreign(found) === undefined;
    },
    async ensure({ system, roots }) {
      const found = await kube.find(KubeSecret, key, signal);
      if (found) return passphraseIn(ours(found));
      const drawn: KubeSecret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          ...key,
          labels: { [labels.provider]: provider, [labels.diskKey]: machine },
          annotations: {
            ...(cluster && clusterIdentityAnnotations(cluster)),
            [annotations.madeOn]: system,
            [annotations.opens]: roots.join(','),
          },
        },
        type: 'Opaque',
        immutable: true,
        data: { [diskPassphraseKey]: Buffer.from(randomBytes(32).toString('hex')).toString('base64') },
      };
      try {
        return passphraseIn(await kube.create(KubeSecret, drawn, signal));
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        return passphraseIn(ours(await kube.get(KubeSecret, key, signal)));
      }
    },
    async read() {
      // A Secret that was restored manually may lack its labels.
      const found = await kube.find(KubeSecret, key, signal);
      if (!found) throw diskKeyMissing(`There is no ${place}.`);
      const error = foreign(found);
      if (error) throw error;
      return passphraseIn(found);
    },
    async delete() {
      const found = await kube.find(KubeSecret, key, signal);
      if (!found || !isOurs(found)) return;
      const { uid } = found.metadata;
      await kube.remove(KubeSecret, key, uid ? { uid } : {}, signal);
    },
  };
}

const diskKeyMissing = (what: string): ProviderError => new ProviderError('DISK_KEY_MISSING', what);
