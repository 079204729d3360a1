import { stringify } from 'yaml';
import { SecretString } from '../../lib/secret-string.ts';
import { issueCertificate, type KeyPair } from './certificates.ts';
import { toBase64 } from './pem.ts';
import { certificateBackdateSeconds, type SecretsBundle, trustedCertificates } from './secrets-bundle.ts';
import type { TalosRole } from './talos-role.ts';

/**
 * A client certificate for the Talos API. Each role is an organisation of its subject. Its only usage is `clientAuth`:
 * apid rejects any other list.
 */
export function issueTalosClientCertificate(
  { authorities }: { readonly authorities: Pick<SecretsBundle['authorities'], 'os'> },
  options: { now: Date; lifetimeSeconds: number; roles?: readonly TalosRole[] },
): Promise<KeyPair> {
  return issueCertificate(authorities.os, {
    organizations: options.roles ?? ['os:admin'],
    usages: ['client'],
    notBefore: new Date(options.now.getTime() - certificateBackdateSeconds * 1000),
    notAfter: new Date(options.now.getTime() + options.lifetimeSeconds * 1000),
  });
}

/** The configuration file of `talosctl`. `endpoints` are addresses of control planes, `nodes` the targets of calls. */
export function renderTalosconfig(
  bundle: SecretsBundle,
  options: {
    /** Of {@link issueTalosClientCertificate}. */
    client: KeyPair;
    /** Name of the context. */
    context: string;
    endpoints: readonly string[];
    nodes?: readonly string[];
  },
): SecretString {
  const { client, context: name, endpoints, nodes } = options;
  const context = {
    endpoints: [...endpoints],
    ...(nodes && nodes.length > 0 ? { nodes: [...nodes] } : {}),
    ca: toBase64(trustedCertificates(bundle, 'os')),
    crt: toBase64(client.certificate),
    key: toBase64(client.key.reveal()),
  };
  return new SecretString(stringify({ context: name, contexts: { [name]: context } }, { indent: 4, lineWidth: 0 }));
}
