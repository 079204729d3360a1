import { randomBytes } from 'node:crypto';
import { annotations, diskKeyName, labels } from '../api/names.ts';
import type { DiskKey } from '../engine/disk-key.ts';
import { Secret as KubeSecret } from '../kube/core-types.ts';
import { isAlreadyExists } from '../kube/errors.ts';
import { ProviderError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';
import type { Services } from './services.ts';

/** Under which the passphrase lies in the Secret. */
export const passphraseKey = 'passphrase';

type Room = Pick<Services, 'namespace' | 'provider'> & {
  readonly kube: Pick<Services['kube'], 'find' | 'get' | 'create' | 'remove'>;
  readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
};

/**
 * The key of a Machine's disks, in a Secret of the provider's own namespace. The Secret is not owned by the Machine: one that is
 * deleted by force would take it along, and leave disks that nobody can ever open.
 */
export function diskKeyOf(room: Room, machine: string, signal: AbortSignal): DiskKey {
  const { kube, stores, namespace, provider } = room;
  const key = { namespace, name: diskKeyName(machine) };
  const place = `Secret ${key.name} in namespace ${namespace}`;
  const isOurs = ({ metadata }: KubeSecret): boolean =>
    metadata.labels?.[labels.provider] === provider && metadata.labels[labels.diskKey] === machine;
  /** One that somebody made is not taken for new disks: who knows who else has it. */
  const ours = (object: KubeSecret): KubeSecret => {
    if (isOurs(object)) return object;
    throw new ProviderError('OWNED_BY_OTHERS', `It is the ${place}. Rename or remove it.`);
  };
  const passphraseIn = ({ data }: KubeSecret): Secret => {
    const text = Buffer.from(data?.[passphraseKey] ?? '', 'base64')
      .toString('utf8')
      .trim();
    if (text === '') throw missing(`The ${place} has no key ${passphraseKey}.`);
    return new Secret(text);
  };
  return {
    place,
    isKept: () => stores.secrets.get(key)?.data?.[passphraseKey] !== undefined,
    async ensure({ system, roots }) {
      const found = await kube.find(KubeSecret, key, signal);
      if (found) return passphraseIn(ours(found));
      const drawn: KubeSecret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          ...key,
          labels: { [labels.provider]: provider, [labels.diskKey]: machine },
          annotations: { [annotations.madeOn]: system, [annotations.opens]: roots.join(',') },
        },
        type: 'Opaque',
        immutable: true,
        data: { [passphraseKey]: Buffer.from(randomBytes(32).toString('hex')).toString('base64') },
      };
      try {
        return passphraseIn(await kube.create(KubeSecret, drawn, signal));
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        return passphraseIn(ours(await kube.get(KubeSecret, key, signal)));
      }
    },
    async read() {
      // Brought back by hand, it may have lost its labels.
      const found = await kube.find(KubeSecret, key, signal);
      if (!found) throw missing(`There is no ${place}.`);
      return passphraseIn(found);
    },
    async forget() {
      const found = await kube.find(KubeSecret, key, signal);
      if (!found || !isOurs(found)) return;
      const { uid } = found.metadata;
      await kube.remove(KubeSecret, key, uid ? { uid } : {}, signal);
    },
  };
}

const missing = (what: string): ProviderError => new ProviderError('DISK_KEY_MISSING', what);
