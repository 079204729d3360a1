import type { EtcdMember } from '../../talos/client/etcd-calls.ts';
import { isHealthyMember } from '../../talos/client/etcd-calls.ts';
import { describeNodeStatus, isClusterMember } from '../../talos/join-steps.ts';
import { minorOf, supportedTalosMinors } from '../../talos/versions.ts';
import { type InspectedCluster, isSilentNode } from './inspect-cluster.ts';
import type { InspectedNode } from './inspect-node.ts';

/** A node with the name that its cluster knows it by. */
export interface AdoptableNode {
  readonly name: string;
  readonly address: string;
  readonly role: InspectedNode['role'];
  readonly talosVersion: string;
  readonly kubernetesVersion: string;
}

/** A cluster that can be adopted. */
export interface AdoptableCluster {
  readonly endpoint: string;
  readonly kubernetesVersion: string;
  readonly nodes: readonly AdoptableNode[];
  /** Nodes of the cluster that the command does not name. */
  readonly unnamed: readonly string[];
}

/** Decides from what was seen alone. The obstacles are sentences with the address or the flag, and the remedy. */
export function assessAdoption(
  found: InspectedCluster,
): { readonly cluster: AdoptableCluster } | { readonly obstacles: readonly string[] } {
  const nodes = found.nodes.filter((node): node is InspectedNode => !isSilentNode(node));
  const obstacles = [
    ...found.nodes.filter(isSilentNode).map(({ address, problem }) => `${address}: ${problem}`),
    ...nodes.flatMap(findNodeProblems),
    ...findSameNodes(nodes),
    ...findEndpointProblems(nodes),
    ...findEtcdProblems(nodes, found.nodes.some(isSilentNode)),
  ];
  const { api, endpoint } = found;
  if (api === undefined || endpoint === undefined || 'problem' in api) {
    const unreached = api && 'problem' in api ? [`The API server ${endpoint}: ${api.problem}`] : [];
    return { obstacles: [...obstacles, ...unreached] };
  }
  const names = new Map(api.nodes.map(({ bootId, name }) => [bootId, name]));
  const unknown = nodes.filter(({ bootId }) => !names.has(bootId));
  obstacles.push(
    ...unknown.map(({ address }) => `${address}: the cluster at ${endpoint} has no Node of this boot of the machine.`),
  );
  if (obstacles.length > 0) return { obstacles };
  const adoptable = nodes.map((node) => toAdoptable(node, names.get(node.bootId) ?? ''));
  const named = new Set(adoptable.map(({ name }) => name));
  const unnamed = api.nodes.map(({ name }) => name).filter((name) => !named.has(name));
  return { cluster: { endpoint, kubernetesVersion: api.version, nodes: adoptable, unnamed } };
}

const toAdoptable = ({ address, role, running }: InspectedNode, name: string): AdoptableNode => ({
  ...{ name, address, role },
  talosVersion: running.talosVersion,
  kubernetesVersion: running.kubernetesVersion ?? '',
});

function findNodeProblems({
  address,
  role,
  configuredRole,
  status,
  running,
  differences,
  isOurs,
}: InspectedNode): string[] {
  const minor = minorOf(running.talosVersion) ?? '';
  const isKnown = supportedTalosMinors.split(', ').includes(minor);
  const flag = role === 'worker' ? '--worker' : '--control-plane';
  return [
    ...(isKnown ? [] : [`${address}: Talos ${running.talosVersion} is not one of ${supportedTalosMinors}.`]),
    ...(differences.length === 0
      ? []
      : [`${address}: its configuration has other secrets than the file, in ${differences.join(', ')}.`]),
    ...(configuredRole === role ? [] : [`${flag} ${address}: it is a ${configuredRole}.`]),
    ...(isClusterMember(status) ? [] : [`${address}: ${describeNodeStatus(status)}`]),
    ...(isOurs
      ? [`${address}: it was made by this provider. If its platform cluster was lost, use the command import.`]
      : []),
  ];
}

function findSameNodes(nodes: readonly InspectedNode[]): string[] {
  const first = new Map<string, string>();
  const same: string[] = [];
  for (const { bootId, address } of nodes) {
    const other = first.get(bootId);
    if (other === undefined) first.set(bootId, address);
    else same.push(`${other} and ${address} are one node: name one of the two.`);
  }
  return same;
}

function findEndpointProblems(nodes: readonly InspectedNode[]): string[] {
  const endpoints = [...new Set(nodes.map(({ endpoint }) => endpoint ?? 'none'))];
  return endpoints.length > 1 ? [`The nodes have different endpoints: ${endpoints.join(', ')}.`] : [];
}

/** `isIncomplete`: a node that is named did not answer, and its member is unknown. */
function findEtcdProblems(nodes: readonly InspectedNode[], isIncomplete: boolean): string[] {
  const reports = nodes.flatMap(({ address, etcd }) => (etcd ? [{ address, etcd }] : []));
  const [first] = reports;
  if (!first) return [];
  const problems = reports
    .filter(({ etcd: { status } }) => !isHealthyMember(status) || status.learner)
    .map(({ address }) => `${address}: its member of etcd is not healthy.`);
  if (new Set(reports.map(({ etcd }) => summarize(etcd.members))).size > 1)
    problems.push('The control planes are not members of one etcd: they list different members.');
  const known = new Set(reports.map(({ etcd }) => etcd.status.memberId));
  const missing = isIncomplete ? [] : first.etcd.members.filter(({ id }) => !known.has(id));
  return [
    ...problems,
    ...missing.map((member) => `etcd has the member ${describeMember(member)}: name it with --control-plane.`),
  ];
}

const summarize = (members: readonly EtcdMember[]): string =>
  members
    .map(({ id }) => id)
    .sort()
    .join();

const describeMember = ({ name, id, peerUrls }: EtcdMember): string =>
  `${name === '' ? id : name} (${peerUrls.join(', ')})`;
