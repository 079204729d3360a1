import { issueCertificate, type KeyPair } from './certificates.ts';
import { certificateBackdateSeconds, type SecretsBundle } from './secrets-bundle.ts';

/**
 * A client certificate for the cluster's Kubernetes API. Nothing is registered in the cluster, and nothing short of a
 * new CA takes it back: give it the shortest lifetime that does.
 */
export function issueKubernetesClientCertificate(
  bundle: SecretsBundle,
  options: { now: Date; lifetimeSeconds: number; user: string; groups: readonly string[] },
): Promise<KeyPair> {
  return issueCertificate(bundle.authorities.kubernetes, {
    commonName: options.user,
    organizations: options.groups,
    usages: ['client'],
    keyEncipherment: true,
    notBefore: new Date(options.now.getTime() - certificateBackdateSeconds * 1000),
    notAfter: new Date(options.now.getTime() + options.lifetimeSeconds * 1000),
  });
}

/** One with the rights of an administrator, like that of the kubeconfig that Talos' own `Kubeconfig` call gives. */
export const issueAdminCertificate = (
  bundle: SecretsBundle,
  options: { now: Date; lifetimeSeconds: number },
): Promise<KeyPair> =>
  issueKubernetesClientCertificate(bundle, { ...options, user: 'admin', groups: ['system:masters'] });
