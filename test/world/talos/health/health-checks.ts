import type { ApiObject } from '../../kube/storage/store.ts';
import type { TalosNode } from '../node.ts';
import type { ClusterHealthCheck, HealthVerdict } from './check-health.ts';

/** The nodes of a cluster, by address. */
export interface ClusterNodes {
  readonly controlPlanes: readonly string[];
  readonly workers: readonly string[];
}

/** The minimum of each role, reduced by the memory that the kernel keeps for itself (talos: pkg/minimal/limits.go). */
const minimumMemoryMiB = { controlPlanes: 1848 - 150, workers: 1024 - 150 } as const;
/** 6 GiB without the other partitions. */
const minimumEphemeralBytes = 6 * 2 ** 30 - (2101 + 100 + 1 + 10) * 2 ** 20;

/** In Talos's order and with its descriptions (talos: pkg/cluster/check/default.go, v1.13.9). */
export function healthChecks(node: TalosNode, party: ClusterNodes): readonly ClusterHealthCheck[] {
  const { controlPlanes } = party;
  const all = [...controlPlanes, ...party.workers];
  const every = (
    addresses: readonly string[],
    look: (one: TalosNode, address: string) => string | undefined,
  ): HealthVerdict => combineFindings(addresses.map((address) => checkEachNode(node, address, look)));
  const on = (look: () => HealthVerdict) => ({ seconds: 5, look });
  return [
    { title: 'etcd to be healthy', ...on(() => every(controlPlanes, serviceProblem('etcd'))) },
    { title: 'etcd members to be consistent across nodes', ...on(() => every(controlPlanes, membersProblem(node))) },
    { title: 'etcd members to be control plane nodes', ...on(() => unexpectedEtcdMembers(node, controlPlanes)) },
    { title: 'apid to be ready', ...on(() => every(all, serviceProblem('apid'))) },
    { title: 'all nodes memory sizes', ...on(() => every(all, memoryProblem(party))) },
    { title: 'all nodes disk sizes', ...on(() => every(all, diskProblem)) },
    { title: 'no diagnostics', ...on(() => 'OK') },
    { title: 'kubelet to be healthy', ...on(() => every(controlPlanes, serviceProblem('kubelet'))) },
    { title: 'all nodes to finish boot sequence', ...on(() => every(all, stageProblem)) },
    { title: 'all k8s nodes to report', seconds: 30, look: () => nodesReport(node, all) },
    {
      title: 'all control plane static pods to be running',
      ...on(() => every(controlPlanes, (one) => (one.staticPodsReady ? undefined : 'missing static pods on node'))),
    },
    { title: 'all control plane components to be ready', ...on(() => componentsReady(node, controlPlanes.length)) },
    // Without a CNI nodes never become ready.
    { title: 'all k8s nodes to report ready', ...on(() => (hasCni(node) ? nodesAre(node, 'ready', isReady) : 'SKIP')) },
    // No simulated cluster has them.
    { title: 'kube-proxy to report ready', ...on(() => 'SKIP') },
    { title: 'coredns to report ready', ...on(() => 'SKIP') },
    { title: 'all k8s nodes to report schedulable', ...on(() => nodesAre(node, 'schedulable', isSchedulable)) },
  ];
}

function checkEachNode(
  node: TalosNode,
  address: string,
  look: (one: TalosNode, address: string) => string | undefined,
): string | undefined {
  const one = node.world.byAddress(address);
  if (one?.services.up('apid')) return look(one, address);
  return `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp ${address}:50000: connect: connection refused"`;
}

/** All errors in the form of Talos's error lists. */
function combineFindings(found: readonly (string | undefined)[]): HealthVerdict {
  const problems = found.filter((one) => one !== undefined);
  if (problems.length === 0) return 'OK';
  const head = problems.length === 1 ? '1 error occurred:' : `${problems.length} errors occurred:`;
  return { not: [head, ...problems.map((one) => `\t* ${one}`)].join('\n') };
}

const serviceProblem = (id: string) => (one: TalosNode, address: string) => {
  const service = one.services.get(id);
  if (!service) return `${address}: no events recorded yet for service "${id}"`;
  if (service.state !== 'Running') {
    return `${address}: service "${id}" not in expected state "Running": current state [${service.state}] ${service.message}`;
  }
  return service.healthy === false ? `${address}: service is not healthy: ${id}` : undefined;
};

const membersProblem = (node: TalosNode) => (one: TalosNode, address: string) => {
  const names = (from: TalosNode): string =>
    (from.etcd?.cluster.members ?? []).map(({ id, name, learner }) => `${id} ${name} ${learner}`).join();
  return names(one) === names(node) ? undefined : `${address}: found unexpected etcd member`;
};

function unexpectedEtcdMembers(node: TalosNode, controlPlanes: readonly string[]): HealthVerdict {
  const found = (node.etcd?.cluster.members ?? []).map(({ address }) => address);
  if (found.every((address) => controlPlanes.includes(address))) return 'OK';
  return { not: `etcd member ips [${found}] are not subset of control plane node ips [${controlPlanes}]` };
}

const memoryProblem = (party: ClusterNodes) => (one: TalosNode, address: string) => {
  const least = minimumMemoryMiB[party.controlPlanes.includes(address) ? 'controlPlanes' : 'workers'];
  const actual = one.machine.memoryMiB;
  if (actual >= least) return undefined;
  return `node "${address}" does not meet memory requirements: expected at least ${least} MiB, actual ${actual} MiB`;
};

function diskProblem(one: TalosNode, address: string): string | undefined {
  const volume = one.resources.get('runtime', 'VolumeStatuses.block.talos.dev', 'EPHEMERAL')?.spec as
    | { readonly location?: string; readonly size?: number }
    | undefined;
  const size = volume?.size ?? 0;
  if (size >= minimumEphemeralBytes) return undefined;
  const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  return `ephemeral partition "${volume?.location ?? ''}" for node "${address}" is too small, expected at least ${gibibytes(minimumEphemeralBytes)}, actual ${gibibytes(size)}`;
}

const stageProblem = (one: TalosNode, address: string): string | undefined =>
  one.stage === 'running' ? undefined : `nodes are not running: ${one.stage}: [${address}]`;

const objects = (node: TalosNode, kind: string): ApiObject[] =>
  node.etcd ? node.etcd.cluster.store.list({ apiVersion: 'v1', kind }) : [];

interface NodeStatus {
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}
const statusOf = (object: ApiObject): NodeStatus => (object['status'] ?? {}) as NodeStatus;

function nodesReport(node: TalosNode, expected: readonly string[]): HealthVerdict {
  const actual = objects(node, 'Node').flatMap((one) =>
    (statusOf(one).addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
  );
  const missing = expected.find((address) => !actual.includes(address));
  if (missing !== undefined) return { not: `can't find expected node with IPs ["${missing}"]` };
  const strangers = actual.filter((address) => !expected.includes(address));
  return strangers.length === 0 ? 'OK' : { not: `unexpected nodes with IPs [${strangers}]` };
}

function componentsReady(node: TalosNode, expected: number): HealthVerdict {
  for (const app of ['kube-apiserver', 'kube-scheduler', 'kube-controller-manager']) {
    const pods = objects(node, 'Pod').filter(({ metadata }) => metadata.labels?.['k8s-app'] === app);
    if (pods.length !== expected) {
      return { not: `expected number of pods for ${app} to be ${expected}, got ${pods.length}` };
    }
    const notReady = pods.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name);
    if (notReady.length > 0) return { not: `some pods are not ready for ${app}: [${notReady.join(' ')}]` };
  }
  return 'OK';
}

function nodesAre(node: TalosNode, what: string, holds: (object: ApiObject) => boolean): HealthVerdict {
  const names = objects(node, 'Node')
    .filter((one) => !holds(one))
    .map(({ metadata }) => metadata.name);
  return names.length === 0 ? 'OK' : { not: `some nodes are not ${what}: [${names.join(' ')}]` };
}

const hasCni = (node: TalosNode): boolean => node.config?.view.kubernetes.cni !== 'none';
const isReady = (object: ApiObject): boolean =>
  statusOf(object).conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
const isSchedulable = (object: ApiObject): boolean =>
  (object['spec'] as { readonly unschedulable?: boolean } | undefined)?.unschedulable !== true;
