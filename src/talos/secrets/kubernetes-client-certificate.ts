import { issueCertificate, type KeyPair } from './certificates.ts';
import { certificateBackdateSeconds, type SecretsBundle } from './secrets-bundle.ts';

/** The part of a bundle that signs certificates for its Kubernetes API. */
interface KubernetesAuthority {
  readonly authorities: Pick<SecretsBundle['authorities'], 'kubernetes'>;
}

/**
 * A client certificate for the cluster's Kubernetes API. The cluster keeps no record of it, and only a new CA revokes
 * it: use the shortest sufficient lifetime.
 */
export function issueKubernetesClientCertificate(
  { authorities }: KubernetesAuthority,
  options: { now: Date; lifetimeSeconds: number; user: string; groups: readonly string[] },
): Promise<KeyPair> {
  return issueCertificate(authorities.kubernetes, {
    commonName: options.user,
    organizations: options.groups,
    usages: ['client'],
    keyEncipherment: true,
    notBefore: new Date(options.now.getTime() - certificateBackdateSeconds * 1000),
    notAfter: new Date(options.now.getTime() + options.lifetimeSeconds * 1000),
  });
}

/** A certificate with administrator rights, as in the kubeconfig of Talos' own `Kubeconfig` call. */
export const issueAdminCertificate = (
  bundle: KubernetesAuthority,
  options: { now: Date; lifetimeSeconds: number },
): Promise<KeyPair> =>
  issueKubernetesClientCertificate(bundle, { ...options, user: 'admin', groups: ['system:masters'] });
