import type { Platform } from '../engine/platform.ts';
import { Secret, type Secrets } from '../lib/secret.ts';
import type { Services } from './services.ts';

/**
 * The keys of the Secret that a platform section names, read from the provider's own namespace, or a sentence that says
 * what is missing.
 */
export function findCredentials(
  services: Services,
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
  const entries = Object.entries(object.data ?? {});
  return {
    secrets: Object.fromEntries(
      entries.map(([key, value]) => [key, new Secret(Buffer.from(value, 'base64').toString('utf8').trim())]),
    ),
  };
}
