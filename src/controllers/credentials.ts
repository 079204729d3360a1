import type { Facts, Platform } from '../engine/platform.ts';
import type { Secret as KubeSecret } from '../kube/core-types.ts';
import { Secret, type Secrets } from '../lib/secret.ts';
import type { Services } from './services.ts';

/** Which Secret: that of one place, where a section names several. */
interface Wanted {
  readonly site?: string | undefined;
  /** Of the machine that is there. */
  readonly facts?: Facts;
}

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
  { site, facts }: Wanted = {},
): { secrets: Secrets } | { missing: string } {
  const name = platform.credentialsRef(section, site, facts);
  const object = services.stores.secrets.get({ namespace: services.namespace, name });
  if (!object) {
    const field = platform.sites.fieldAt(section, site, `${platform.name}.credentialsRef`);
    return { missing: `${field}: there is no Secret ${name} in namespace ${services.namespace}. Create it.` };
  }
  return { secrets: secretsIn(object) };
}

/** What a Secret holds, decoded. */
export const secretsIn = ({ data = {} }: Pick<KubeSecret, 'data'>): Secrets =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, new Secret(Buffer.from(value, 'base64').toString('utf8').trim())]),
  );
