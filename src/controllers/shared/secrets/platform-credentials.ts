import type { Platform } from '../../../engine/platform.ts';
import type { Facts } from '../../../engine/step.ts';
import type { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { SecretString, type SecretStrings } from '../../../lib/secret-string.ts';
import type { Services } from '../services.ts';

/** Selects the Secret of one failure domain, if a section names several. */
interface CredentialsScope {
  readonly failureDomain?: string | undefined;
  /** The facts of an existing machine. */
  readonly facts?: Facts;
}

/**
 * The values of the Secret that a platform section names, from the provider's own namespace, or a sentence about the
 * missing part.
 */
export function findPlatformCredentials(
  services: Pick<Services, 'namespace'> & {
    readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
  },
  platform: Platform,
  section: unknown,
  { failureDomain, facts }: CredentialsScope = {},
): { secrets: SecretStrings } | { missing: string } {
  const name = platform.config.credentialsRef(section, failureDomain, facts);
  if (name === undefined) return { secrets: {} };
  const object = services.stores.secrets.get({ namespace: services.namespace, name });
  if (!object) {
    const field = platform.failureDomains.fieldAt(section, failureDomain, `${platform.name}.credentialsRef`);
    return { missing: `${field}: there is no Secret ${name} in namespace ${services.namespace}. Create it.` };
  }
  return { secrets: decodeSecretData(object) };
}

/** The decoded values of a Secret. */
export const decodeSecretData = ({ data = {} }: Pick<KubeSecret, 'data'>): SecretStrings =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      new SecretString(Buffer.from(value, 'base64').toString('utf8').trim()),
    ]),
  );
