import { belongsToCluster } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { accessSecretName, labels } from '../../../api/names.ts';
import { formatObjectKey } from '../../../kube/resource.ts';
import { toBase64 } from '../../../talos/secrets/pem.ts';
import { trustedCertificates } from '../../../talos/secrets/secrets-bundle.ts';
import { accessSecretKeys, isSecretOwnedBy } from '../../access-request/access-secret.ts';
import { readAuthorityOf } from '../../access-request/kubeconfig.ts';
import { readTrustedCertificates } from '../../publish/published-secret.ts';
import type { Services } from '../../shared/services.ts';
import { findMachineProblem, type MachineVerificationServices, type RotatedAuthority } from './verify-machine.ts';

/** The cluster whose authority is rotated, in the present phase. */
export interface RotatedCluster extends RotatedAuthority {
  readonly machines: readonly Machine[];
}

/** Nodes that are asked at the same time. */
const concurrentNodes = 8;

/**
 * Why the next phase may not begin although every node has the configuration of this one: a node does not have the phase, or
 * the holder of an AccessRequest does not know of it. Undefined if all is well.
 */
export async function findRotationProblem(
  services: MachineVerificationServices & Pick<Services, 'stores'>,
  cluster: RotatedCluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { rotation, machines } = cluster;
  const outdated =
    rotation.authority === 'kubernetes'
      ? (findOutdatedAccess(services, cluster) ?? findOutdatedPublication(services, cluster))
      : undefined;
  if (outdated !== undefined) return outdated;
  for (let i = 0; i < machines.length; i += concurrentNodes) {
    const some = machines.slice(i, i + concurrentNodes);
    const problems = await Promise.all(some.map((one) => findMachineProblem(services, cluster, one, signal)));
    const problem = problems.find((text) => text !== undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The first AccessRequest whose clients do not trust what the API servers show in the next phase, or trust more. */
function findOutdatedAccess(
  { stores }: Pick<Services, 'stores'>,
  { ref, bundle }: Pick<RotatedAuthority, 'ref' | 'bundle'>,
): string | undefined {
  const trusted = toBase64(trustedCertificates(bundle, 'kubernetes'));
  for (const request of stores.accessRequests.by('cluster', formatObjectKey(ref))) {
    const { namespace = '', name } = request.metadata;
    const secret = stores.accessSecrets.get({ namespace, name: accessSecretName({ namespace, name }) });
    const kubeconfig = secret?.data?.[accessSecretKeys.kubeconfig];
    if (!secret || kubeconfig === undefined || !isSecretOwnedBy(secret, request)) continue;
    const text = Buffer.from(kubeconfig, 'base64').toString('utf8');
    if (readAuthorityOf(text) !== trusted)
      return `AccessRequest ${namespace}/${name} does not have the certificates of this step yet; see its conditions.`;
  }
  return undefined;
}

/** The same for what is published of the cluster. */
function findOutdatedPublication(
  { stores }: Pick<Services, 'stores'>,
  { ref, bundle }: Pick<RotatedAuthority, 'ref' | 'bundle'>,
): string | undefined {
  const trusted = toBase64(trustedCertificates(bundle, 'kubernetes'));
  const outdated = stores.accessSecrets
    .list()
    .filter(({ metadata }) => metadata.labels?.[labels.published] !== undefined && belongsToCluster(metadata, ref))
    .find((secret) => !secret.metadata.deletionTimestamp && readTrustedCertificates(secret) !== trusted);
  const { namespace, name } = outdated?.metadata ?? {};
  return outdated
    ? `The published Secret ${namespace}/${name} does not have the certificates of this step yet; see the condition Published.`
    : undefined;
}
