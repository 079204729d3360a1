import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { accessSecretName } from '../../../api/names.ts';
import { Namespace } from '../../../kube/core-types.ts';
import { KubeError } from '../../../kube/errors.ts';
import { formatObjectKey } from '../../../kube/resource.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import { findApiServerPod } from '../../../talos/client/api-server-pod.ts';
import { type AuthorityRotation, verificationBundle } from '../../../talos/secrets/authority-rotation.ts';
import { toBase64 } from '../../../talos/secrets/pem.ts';
import { type SecretsBundle, trustedCertificates } from '../../../talos/secrets/secrets-bundle.ts';
import { accessSecretKeys, isSecretOwnedBy } from '../../access-request/access-secret.ts';
import { controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { findHealthProblem } from '../../shared/control-planes/health-problems.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';

type VerificationServices = Pick<Services, 'targets' | 'stores' | 'nodes'>;

/** The cluster whose authority is rotated, in the present phase. */
export interface RotatedCluster {
  readonly ref: ClusterIdentity;
  readonly machines: readonly Machine[];
  readonly bundle: SecretsBundle;
  readonly rotation: AuthorityRotation;
}

/** Calls at the same time. */
const concurrentCalls = 8;
const callSeconds = 10;

/**
 * Why the next phase may not begin although every node has the configuration of this one: a node or API server does not
 * accept a certificate of the new authority, or, once that issues, does not show one of it. Undefined if all is well.
 */
export async function findRotationProblem(
  services: VerificationServices,
  cluster: RotatedCluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { rotation, machines, bundle } = cluster;
  const ofAccess = rotation.authority === 'kubernetes' ? findOutdatedAccess(services, cluster) : undefined;
  if (ofAccess !== undefined) return ofAccess;
  const verifying = verificationBundle(bundle, rotation);
  const verify = rotation.authority === 'os' ? findNodeProblem : findKubernetesProblem;
  for (let i = 0; i < machines.length; i += concurrentCalls) {
    const some = machines.slice(i, i + concurrentCalls);
    const problems = await Promise.all(some.map((one) => verify(services, { ...cluster, verifying }, one, signal)));
    const problem = problems.find((text) => text !== undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type VerifiedCluster = RotatedCluster & { readonly verifying: SecretsBundle };

async function findNodeProblem(
  { targets }: VerificationServices,
  { verifying }: VerifiedCluster,
  { metadata: { name }, status }: Machine,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!status?.address) return `The address of ${name} is not known.`;
  const node = targets.talosWith(verifying, status.address);
  try {
    await node.version({ signal, seconds: callSeconds });
    return undefined;
  } catch (error) {
    return describeFailure(`${name} does not answer with the new Talos CA`, error, signal);
  } finally {
    await node.close();
  }
}

/** A kubelet restarts with the authorities, and its Node says whether it is back. */
async function findKubernetesProblem(
  services: VerificationServices,
  cluster: VerifiedCluster,
  machine: Machine,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name } = machine.metadata;
  if (!services.nodes.isReady(cluster.ref, name)) return `The Node ${name} is not Ready.`;
  if (machine.spec.role !== 'controlplane') return undefined;
  const controlPlane = controlPlaneOf(services, cluster.ref, machine, signal);
  const unhealthy = await findHealthProblem(controlPlane);
  if (unhealthy !== undefined) return `${name}: ${unhealthy}.`;
  const pod = await queryNode(controlPlane, (node) => findApiServerPod(node, controlPlane));
  if (!pod || 'kind' in pod) return `${name}: it has no API server yet.`;
  const url = `https://${toAuthority(controlPlane.address, pod.port)}`;
  const client = await services.targets.nodeClientWith(cluster.verifying, url);
  try {
    await client.get(Namespace, { name: 'kube-system' }, signal);
    return undefined;
  } catch (error) {
    return describeFailure(`The API server of ${name} does not answer with the new Kubernetes CA`, error, signal);
  } finally {
    await client.close();
  }
}

function describeFailure(what: string, error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  if (!(error instanceof ProviderError || error instanceof KubeError)) throw error;
  return `${what}: ${error.message.slice(0, 300)}`;
}

/** The first AccessRequest whose clients do not trust what the API servers show in the next phase, or trust more. */
function findOutdatedAccess(
  { stores }: VerificationServices,
  { ref, bundle }: Pick<RotatedCluster, 'ref' | 'bundle'>,
): string | undefined {
  const trusted = toBase64(trustedCertificates(bundle, 'kubernetes'));
  for (const request of stores.accessRequests.by('cluster', formatObjectKey(ref))) {
    const { namespace = '', name } = request.metadata;
    const secret = stores.accessSecrets.get({ namespace, name: accessSecretName({ namespace, name }) });
    const kubeconfig = secret?.data?.[accessSecretKeys.kubeconfig];
    if (!secret || kubeconfig === undefined || !isSecretOwnedBy(secret, request)) continue;
    const text = Buffer.from(kubeconfig, 'base64').toString('utf8');
    if (/^ *certificate-authority-data: (\S+)$/m.exec(text)?.[1] !== trusted)
      return `AccessRequest ${namespace}/${name} does not have the certificates of this step yet; see its conditions.`;
  }
  return undefined;
}
