import { type Affiliate, clusterKeyOf } from '../environment.ts';
import type { TalosNode } from '../node.ts';
import { bytesField, encodeMessage, encodeNetIp, numberField } from '../state/protobuf.ts';
import { timings } from '../timings.ts';

/**
 * The discovery service: the nodes of one cluster that know each other. A stopped node stays listed for half an hour.
 */
export function runDiscovery(node: TalosNode): void {
  const refresh = () => {
    announceNode(node);
    publishMembers(node);
  };
  refresh();
  node.onClose(node.world.onChange(refresh));
  node.onClose(() => node.world.later(timings.affiliateTtl, () => expireAffiliates(node)));
}

function announceNode(node: TalosNode): void {
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

/** The service removes an affiliate after half an hour without an update. */
function expireAffiliates(node: TalosNode): void {
  const back = [...node.world.nodes].some((other) => other.nodeId === node.nodeId);
  if (back) return;
  node.world.affiliates.delete(node.nodeId);
  node.world.changed();
}

function publishMembers(node: TalosNode): void {
  const key = clusterKeyOf(node);
  const known = [...node.world.affiliates.values()].filter((affiliate) => affiliate.clusterKey === key);
  // Without discovery a node still knows itself.
  const members = key === undefined ? [] : known;
  for (const affiliate of members) {
    node.resources.put('cluster', 'Members.cluster.talos.dev', affiliate.hostname, memberSpec(affiliate), {
      proto: memberProto(affiliate),
    });
    node.resources.put('cluster', 'Affiliates.cluster.talos.dev', affiliate.nodeId, memberSpec(affiliate));
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

const memberSpec = (affiliate: Affiliate): Record<string, unknown> => ({
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
  return encodeMessage(
    bytesField(1, affiliate.nodeId),
    ...affiliate.addresses.map((address) => bytesField(2, encodeNetIp(address))),
    bytesField(3, affiliate.hostname),
    numberField(4, control ? 2 : 3),
    bytesField(5, affiliate.operatingSystem),
    ...(control ? [bytesField(6, numberField(1, 6443))] : []),
  );
}
