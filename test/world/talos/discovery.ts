import type { Node } from './node.ts';
import { count, field, message, netIp } from './protobuf.ts';
import { timings } from './timings.ts';
import { type Affiliate, clusterKeyOf } from './world.ts';

/** The discovery service: what nodes of one cluster know of each other. Who is gone stays listed for half an hour. */
export function runDiscovery(node: Node): void {
  const refresh = () => {
    announce(node);
    publishMembers(node);
  };
  refresh();
  node.onClose(node.world.onChange(refresh));
  node.onClose(() => node.world.later(timings.affiliateTtl, () => forget(node)));
}

function announce(node: Node): void {
  const key = clusterKeyOf(node);
  if (key === undefined || node.signal.aborted) return;
  node.world.affiliates.set(node.nodeId, {
    nodeId: node.nodeId,
    hostname: node.hostname,
    addresses: node.addresses,
    machineType: node.config?.view.type ?? 'unknown',
    operatingSystem: `Talos (v${node.image.version})`,
    clusterKey: key,
  });
}

/** The service forgets who has not been heard of for half an hour. */
function forget(node: Node): void {
  const back = [...node.world.nodes].some((other) => other.nodeId === node.nodeId);
  if (back) return;
  node.world.affiliates.delete(node.nodeId);
  node.world.changed();
}

function publishMembers(node: Node): void {
  const key = clusterKeyOf(node);
  const known = [...node.world.affiliates.values()].filter((affiliate) => affiliate.clusterKey === key);
  // Without discovery a node still knows itself.
  const members = key === undefined ? [] : known;
  for (const affiliate of members) {
    node.resources.put('cluster', 'Members.cluster.talos.dev', affiliate.hostname, member(affiliate), {
      proto: memberProto(affiliate),
    });
    node.resources.put('cluster', 'Affiliates.cluster.talos.dev', affiliate.nodeId, member(affiliate));
  }
  node.resources.keepOnly(
    'cluster',
    'Members.cluster.talos.dev',
    members.map((one) => one.hostname),
  );
  node.resources.keepOnly(
    'cluster',
    'Affiliates.cluster.talos.dev',
    members.map((one) => one.nodeId),
  );
}

const member = (affiliate: Affiliate): Record<string, unknown> => ({
  nodeId: affiliate.nodeId,
  addresses: affiliate.addresses,
  hostname: affiliate.hostname,
  machineType: affiliate.machineType,
  operatingSystem: affiliate.operatingSystem,
  ...(affiliate.machineType === 'controlplane' ? { controlPlane: { port: 6443 } } : {}),
});

/** talos: api/resource/definitions/cluster/cluster.proto. */
function memberProto(affiliate: Affiliate): Buffer {
  const control = affiliate.machineType === 'controlplane';
  return message(
    field(1, affiliate.nodeId),
    ...affiliate.addresses.map((address) => field(2, netIp(address))),
    field(3, affiliate.hostname),
    count(4, control ? 2 : 3),
    field(5, affiliate.operatingSystem),
    ...(control ? [field(6, count(1, 6443))] : []),
  );
}
