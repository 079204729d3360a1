import { stringify } from 'yaml';
import { SecretString } from '../../src/lib/secret-string.ts';
import { issueAdminCertificate } from '../../src/talos/secrets/kubernetes-client-certificate.ts';
import { toBase64 } from '../../src/talos/secrets/pem.ts';
import { type SecretsBundle, trustedCertificates } from '../../src/talos/secrets/secrets-bundle.ts';

/**
 * A kubeconfig with the rights of an administrator, like the result of Talos' own `Kubeconfig` call, without a call to
 * a node. `server` overrides the endpoint, e.g. to reach one control plane by its own address.
 */
export async function renderAdminKubeconfig(
  bundle: SecretsBundle,
  options: { now: Date; lifetimeSeconds: number; clusterName: string; server: string },
): Promise<SecretString> {
  const client = await issueAdminCertificate(bundle, options);
  const { clusterName, server } = options;
  const user = `admin@${clusterName}`;
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: clusterName,
        cluster: { server, 'certificate-authority-data': toBase64(trustedCertificates(bundle, 'kubernetes')) },
      },
    ],
    users: [
      {
        name: user,
        user: {
          'client-certificate-data': toBase64(client.certificate),
          'client-key-data': toBase64(client.key.reveal()),
        },
      },
    ],
    contexts: [{ name: user, context: { cluster: clusterName, namespace: 'default', user } }],
    'current-context': user,
  };
  return new SecretString(stringify(document, { lineWidth: 0 }));
}
