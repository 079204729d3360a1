import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import type { WorkloadCheck } from '../../api/schema/rollout-schema.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { Services } from '../shared/services.ts';

/** The fields of the status of all three kinds. Absent counts are zero. */
interface Workload extends KubeObject {
  spec?: { replicas?: number };
  status?: {
    observedGeneration?: number;
    /** Of a Deployment or StatefulSet. */
    availableReplicas?: number;
    /** Of a DaemonSet. */
    desiredNumberScheduled?: number;
    numberAvailable?: number;
  };
}

const kinds: Readonly<Record<WorkloadCheck['kind'], ResourceType<Workload>>> = {
  Deployment: { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  StatefulSet: { group: 'apps', version: 'v1', kind: 'StatefulSet', plural: 'statefulsets', namespaced: true },
  DaemonSet: { group: 'apps', version: 'v1', kind: 'DaemonSet', plural: 'daemonsets', namespaced: true },
};

interface ChecksOfCluster {
  readonly cluster: Cluster;
  readonly ref: ClusterIdentity;
  readonly checks: readonly WorkloadCheck[];
}

/** {@link findWorkloadProblem} at the published endpoint of a cluster. */
export async function findWorkloadProblemOf(
  { targets }: Pick<Services, 'targets'>,
  { cluster, ref, checks }: ChecksOfCluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (checks.length === 0) return undefined;
  const url = externalEndpointUrl(cluster);
  if (url === undefined) return 'The endpoint of the cluster is not published yet.';
  return await findWorkloadProblem(await targets.client(ref, url), checks, signal);
}

/** Why a workload that has to be available is not; undefined if all of them are. */
export async function findWorkloadProblem(
  client: KubeClient,
  checks: readonly WorkloadCheck[],
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { kind, namespace, name } of checks) {
    const subject = `${kind} ${namespace}/${name}`;
    try {
      const found = await client.find(kinds[kind], { namespace, name }, signal);
      if (!found) return `${subject} of spec.rollout.healthChecks does not exist in the cluster.`;
      const problem = describeUnavailable(found, kind);
      if (problem !== undefined) return `${subject} ${problem}.`;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KubeError)) throw error;
      return `${subject} could not be checked: ${error.message}.`;
    }
  }
  return undefined;
}

function describeUnavailable({ metadata, spec, status = {} }: Workload, kind: string): string | undefined {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'has just changed';
  const [available = 0, wanted = 0] =
    kind === 'DaemonSet'
      ? [status.numberAvailable, status.desiredNumberScheduled]
      : [status.availableReplicas, spec?.replicas ?? 1];
  return available < wanted ? `has ${available} of ${wanted} Pods available` : undefined;
}
