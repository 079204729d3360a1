import type { Platform } from '../engine/platform.ts';
import type { Secret as KubeSecret } from '../kube/core-types.ts';
import { Secret, type Secrets } from '../lib/secret.ts';
import type { Services } from './services.ts';

/**
 * The keys of the Secret that a platform section names, read from the provider's own namespace, or a sentence that says
 * what is missing.
 */
export function findCredentials(
  services: Pick<Services, 'namespace'> & {
    readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
  },
  platform: Platform,
  section: unknown,
): { secrets: Secrets } | { missing: string } {
  const name = platform.credentialsRef(section);
  const object = services.stores.secrets.get({ namespace: services.namespace, name });
  if (!object) {
    return {
      missing: `${platform.name}.credentialsRef: there is no Secret ${name} in namespace ${services.namespace}. Create it.`,
    };
  }
  return { secrets: secretsIn(object) };
}

/** What a Secret holds, decoded. */
export const secretsIn = ({ data = {} }: Pick<KubeSecret, 'data'>): Secrets =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, new Secret(Buffer.from(value, 'base64').toString('utf8').trim())]),
  );
