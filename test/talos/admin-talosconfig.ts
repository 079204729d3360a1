import type { SecretString } from '../../src/lib/secret-string.ts';
import type { SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { issueTalosClientCertificate, renderTalosconfig } from '../../src/talos/secrets/talosconfig.ts';

/** A talosconfig with the rights of an administrator, like that of `talosctl gen config`. */
export async function renderAdminTalosconfig(
  bundle: SecretsBundle,
  options: {
    now: Date;
    lifetimeSeconds: number;
    clusterName: string;
    endpoints: readonly string[];
    nodes?: readonly string[];
  },
): Promise<SecretString> {
  const client = await issueTalosClientCertificate(bundle, options);
  return renderTalosconfig(bundle, { ...options, client, context: options.clusterName });
}
