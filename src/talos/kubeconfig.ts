import { stringify } from 'yaml';
import { Secret } from '../lib/secret.ts';
import { issueCertificate, type KeyPair } from './certificates.ts';
import { toBase64 } from './pem.ts';
import { backdateSeconds, type SecretsBundle } from './secrets.ts';

/**
 * A client certificate for the cluster's Kubernetes API. Nothing is registered in the cluster, and nothing short of a
 * new CA takes it back: give it the shortest lifetime that does.
 */
export function issueKubernetesClient(
  bundle: SecretsBundle,
  options: { now: Date; lifetimeSeconds: number; user: string; groups: readonly string[] },
): Promise<KeyPair> {
  return issueCertificate(bundle.authorities.kubernetes, {
    commonName: options.user,
    organizations: options.groups,
    usages: ['client'],
    keyEncipherment: true,
    notBefore: new Date(options.now.getTime() - backdateSeconds * 1000),
    notAfter: new Date(options.now.getTime() + options.lifetimeSeconds * 1000),
  });
}

/**
 * A kubeconfig with the rights of an administrator, like the one that Talos' own `Kubeconfig` call gives, with no call
 * to a node. `server` overrides the endpoint, e.g. to reach one control plane by its own address.
 */
export async function renderAdminKubeconfig(
  bundle: SecretsBundle,
  options: { now: Date; lifetimeSeconds: number; clusterName: string; server: string },
): Promise<Secret> {
  const client = await issueKubernetesClient(bundle, { ...options, user: 'admin', groups: ['system:masters'] });
  const { clusterName, server } = options;
  const user = `admin@${clusterName}`;
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: clusterName,
        cluster: { server, 'certificate-authority-data': toBase64(bundle.authorities.kubernetes.certificate) },
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
  return new Secret(stringify(document, { lineWidth: 0 }));
}
