import { randomBytes, randomUUID } from 'node:crypto';
import { hostOfUrl } from '../../../../src/lib/net/ip.ts';
import { createKubeStore, type KubeStore } from '../../kube/storage/store.ts';
import { type EphemeralPartition, readPartition, writePartition } from '../boot/disk-partitions.ts';
import { certificateFingerprint, decodePem } from '../certificates/pki.ts';
import { imageVersionOf } from '../config/config-view.ts';
import { clusterKeyOf } from '../environment.ts';
import type { SharedAddressListener } from '../network/shared-address.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { parseSnapshot } from './etcd-snapshot.ts';

/** One member, whether its machine runs or not. */
export interface SimulatedEtcdMember {
  readonly id: bigint;
  cluster: SimulatedEtcdCluster;
  readonly name: string;
  readonly address: string;
  learner: boolean;
  /** Bytes of its database, and those in use. */
  database: { bytes: number; inUse: number };
  /** Version of the program that ran last. */
  version: string;
  /** The node on which it runs and is healthy. */
  node: TalosNode | undefined;
}

export type EtcdAlarm = 'NOSPACE' | 'CORRUPT';

/** The etcd that each minor of Talos runs unless the configuration names an image. */
const defaultEtcd: Readonly<Record<number, string>> = { 11: '3.6.5', 12: '3.6.11', 13: '3.6.12', 14: '3.7.1' };

/** The shared state of one etcd cluster. It lives as long as the environment; its data is the Kubernetes store. */
export class SimulatedEtcdCluster {
  uid: string = randomUUID();
  id = randomBytes(8).readBigUInt64BE();
  /** Fingerprint of the etcd CA: a member with another CA cannot connect. */
  readonly ca: string;
  readonly store: KubeStore = createKubeStore();
  readonly members: SimulatedEtcdMember[] = [];
  leader: bigint | undefined;
  term = 1n;
  /** Raised alarms, by member. */
  readonly alarms = new Map<bigint, EtcdAlarm>();
  /** Its Nodes are those of a snapshot: their kubelets may not exist any more. */
  hasRestoredNodes = false;
  /** Holder of the virtual IP, and whether the previous holder's lease has expired. */
  vip: { owner: TalosNode | undefined; free: boolean; door?: SharedAddressListener } = { owner: undefined, free: true };

  constructor(ca: string) {
    this.ca = ca;
  }

  /** More than half of the voters run. */
  get quorum(): boolean {
    const voters = this.members.filter((member) => !member.learner);
    return voters.length > 0 && voters.filter((member) => member.node).length * 2 > voters.length;
  }

  add(node: TalosNode, learner: boolean): SimulatedEtcdMember {
    const id = randomBytes(8).readBigUInt64BE();
    const member = {
      id,
      cluster: this,
      name: node.nodename,
      address: node.addresses[0] ?? '',
      learner,
      database: { bytes: 20 * 2 ** 20, inUse: 8 * 2 ** 20 },
      version: '',
      node: undefined,
    };
    this.members.push(member);
    return member;
  }

  remove(member: SimulatedEtcdMember): void {
    const index = this.members.indexOf(member);
    if (index >= 0) this.members.splice(index, 1);
    this.alarms.delete(member.id);
    this.refresh();
  }

  /**
   * Before this cluster is restored from a snapshot: what is left of its members becomes a cluster of its own, with the
   * objects so far. Those that come back alive are a split brain.
   */
  detachMembers(): SimulatedEtcdCluster {
    const { uid, id, leader, term, vip } = this;
    const rest = Object.assign(new SimulatedEtcdCluster(this.ca), { uid, id, leader, term, vip });
    rest.members.push(...this.members.splice(0));
    for (const member of rest.members) member.cluster = rest;
    rest.store.load(this.store.dump());
    rest.refresh();
    const { uid: newUid, id: newId } = new SimulatedEtcdCluster(this.ca);
    Object.assign(this, { uid: newUid, id: newId, leader: undefined, term: 1n });
    this.vip = { owner: undefined, free: true };
    this.alarms.clear();
    return rest;
  }

  /** After any change of members: elects the leader, and makes the store available while there is a quorum. */
  refresh(): void {
    const led = this.members.find((member) => member.id === this.leader);
    if (!led?.node || led.learner) {
      const next = this.quorum ? this.members.find((member) => member.node && !member.learner) : undefined;
      if (next) this.term += 1n;
      this.leader = next?.id;
    }
    this.store.available = this.quorum;
  }
}

/** The service `etcd` of a control plane, from its preparation to the end of the boot. */
export async function runEtcd(node: TalosNode): Promise<void> {
  node.services.set('etcd', 'Waiting', 'Waiting for service "cri" to be "up", time sync, network');
  while (!node.timeInSync) await node.sleep(timings.poll);
  node.services.set('etcd', 'Preparing', 'Running pre state');
  const member = memberFromData(node) ?? (await joinOrBootstrap(node));
  if (typeof member === 'string') return failEtcd(node, member);
  node.services.set('etcd', 'Starting', 'Started task etcd');
  await node.sleep(timings.etcd);
  startEtcd(node, member);
  if (!member.learner) return;
  await node.sleep(timings.etcdPromotion);
  while (!member.cluster.quorum) await node.sleep(timings.poll);
  member.learner = false;
  member.cluster.refresh();
  node.log('etcd: promoted to voter');
  node.world.changed();
}

function startEtcd(node: TalosNode, member: SimulatedEtcdMember): void {
  member.node = node;
  node.etcd = member;
  // The configuration counts when the service starts: a later change needs a reboot.
  member.version = imageVersionOf(node.config?.view.etcdImage ?? '') || (defaultEtcd[node.minor] ?? '3.6.12');
  member.cluster.refresh();
  node.onClose(() => stopEtcd(node));
  node.resources.put('etcd', 'EtcdMembers.etcd.talos.dev', 'local', { memberID: formatMemberId(member.id) });
  node.services.set('etcd', 'Running', 'Health check successful', true);
  node.world.changed();
}

/** The process ends; the member stays. */
export function stopEtcd(node: TalosNode): void {
  const member = node.etcd;
  if (member?.node === node) member.node = undefined;
  node.etcd = undefined;
  member?.cluster.refresh();
}

/** Data of an earlier boot: its member, or the reason why etcd does not start from it. */
function memberFromData(node: TalosNode): SimulatedEtcdMember | string | undefined {
  const data = readEphemeral(node).etcd;
  if (!data) return undefined;
  const cluster = node.world.etcdClusters.get(data.cluster);
  const member = cluster?.members.find((one) => formatMemberId(one.id) === data.memberId);
  if (!cluster || !member) return 'the member has been permanently removed from the cluster';
  return cluster.ca === etcdCaFingerprint(node)
    ? member
    : 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
}

function failEtcd(node: TalosNode, problem: string): void {
  node.services.set('etcd', 'Failed', problem, false);
  node.log(`etcd: ${problem}`);
}

/** Without data: the node waits for Bootstrap, or for a cluster to join. Only the console shows why it waits. */
async function joinOrBootstrap(node: TalosNode): Promise<SimulatedEtcdMember> {
  let output = '';
  for (;;) {
    if (node.bootstrapCalls > 0) {
      const calls = node.bootstrapCalls;
      const bootstrapped = await bootstrapEtcd(node);
      if (typeof bootstrapped !== 'string') return bootstrapped;
      failEtcd(node, bootstrapped);
      // The service stays so until another call loads it again.
      while (node.bootstrapCalls === calls) await node.sleep(timings.poll);
      continue;
    }
    const member = tryJoin(node);
    if (typeof member !== 'string') return member;
    if (member !== output) node.log(`etcd: ${member}`);
    output = member;
    await node.sleep(timings.poll);
  }
}

/**
 * The effect of the Bootstrap call before the service is restarted: the service is stopped in any state, also after an
 * earlier call (talos: services/etcd.go, BootstrapEtcd).
 */
export function restartForBootstrap(node: TalosNode, recovery?: TalosNode['recovery']): void {
  node.bootstrapCalls += 1;
  node.recovery = recovery;
  node.services.set('etcd', 'Stopping', 'Sending SIGTERM to Process(etcd)');
  node.services.set('etcd', 'Finished', 'Bootstrap requested');
  node.services.set('etcd', 'Preparing', 'Running pre state');
}

/** The image is pulled first, and each call restarts the pull. A call succeeds until the first bytes of data exist. */
async function bootstrapEtcd(node: TalosNode): Promise<SimulatedEtcdMember | string> {
  for (let call = 0; call !== node.bootstrapCalls; ) {
    call = node.bootstrapCalls;
    for (let waited = 0; waited < timings.etcdDirectory && call === node.bootstrapCalls; waited += timings.poll)
      await node.sleep(timings.poll);
    if (call !== node.bootstrapCalls) node.log('etcd: error pulling image: context canceled');
  }
  const cluster = node.recovery
    ? restoreSnapshot(node, node.recovery)
    : new SimulatedEtcdCluster(etcdCaFingerprint(node));
  if (typeof cluster === 'string') return cluster;
  node.world.etcdClusters.set(cluster.uid, cluster);
  const member = cluster.add(node, false);
  storeMembership(node, member);
  return member;
}

/**
 * A cluster without members that has the content of the uploaded snapshot, which is deleted; or why that is not possible.
 * Kubelets hold on to the cluster that the snapshot was taken of, so it is that one.
 */
function restoreSnapshot(node: TalosNode, options: NonNullable<TalosNode['recovery']>): SimulatedEtcdCluster | string {
  const { etcdSnapshot = '', ...rest } = readEphemeral(node);
  const bytes = node.world.uploadedSnapshots.get(etcdSnapshot);
  if (!bytes) return 'error verifying snapshot: stat /var/lib/etcd.snapshot: no such file or directory';
  try {
    const { cluster: uid, ...content } = parseSnapshot(bytes, options);
    const former = node.world.etcdClusters.get(uid);
    const cluster = former ?? new SimulatedEtcdCluster(etcdCaFingerprint(node));
    if (former) node.world.etcdClusters.set(uid, former.detachMembers());
    cluster.store.load(content);
    cluster.hasRestoredNodes = true;
    node.world.uploadedSnapshots.delete(etcdSnapshot);
    writeEphemeral(node, rest);
    return cluster;
  } catch (error) {
    return `error recovering from the snapshot: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function storeUploadedSnapshot(node: TalosNode, bytes: Buffer): void {
  const { etcdSnapshot = randomUUID(), ...rest } = readEphemeral(node);
  node.world.uploadedSnapshots.set(etcdSnapshot, bytes);
  writeEphemeral(node, { ...rest, etcdSnapshot });
}

/** A learner of a healthy cluster, or why it must wait. One learner at a time (etcd: too many learner members). */
function tryJoin(node: TalosNode): SimulatedEtcdMember | string {
  const peers = [...node.world.nodes].filter((other) => other !== node && other.etcd && canReach(node, other));
  if (peers.length === 0) return 'waiting for etcd to be bootstrapped, or for members to join';
  const peer = peers.find((other) => other.etcd?.cluster.ca === etcdCaFingerprint(node));
  if (!peer?.etcd) return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  const { cluster } = peer.etcd;
  if (!cluster.quorum) return 'etcdserver: no leader';
  const namesake = cluster.members.find((member) => member.name === node.nodename);
  if (namesake) {
    node.log(`etcd: removing the member of the same name ${formatMemberId(namesake.id)}`);
    cluster.remove(namesake);
  }
  if (cluster.members.some((member) => member.learner)) return 'etcdserver: too many learner members in cluster';
  const member = cluster.add(node, true);
  storeMembership(node, member);
  return member;
}

/**
 * Whether this node knows an address at which an etcd listens. Without discovery and without an API server it knows
 * only the cluster endpoint, and etcd does not listen at the shared address (`cluster.etcd.advertisedSubnets`).
 */
export function hasReachableEtcdEndpoint(node: TalosNode): boolean {
  if (clusterKeyOf(node) !== undefined || node.apiServer) return true;
  return endpointHost(node.config?.view.endpoint ?? '') !== node.config?.view.vip;
}

/** By discovery, or by the host of the cluster endpoint. */
function canReach(node: TalosNode, other: TalosNode): boolean {
  const key = clusterKeyOf(node);
  if (key !== undefined && key === clusterKeyOf(other)) return true;
  const host = endpointHost(node.config?.view.endpoint ?? '');
  return other.addresses.includes(host) || (other.etcd?.cluster.vip.owner === other && other.config?.view.vip === host);
}

function storeMembership(node: TalosNode, member: SimulatedEtcdMember): void {
  writeEphemeral(node, {
    ...readEphemeral(node),
    etcd: { cluster: member.cluster.uid, memberId: formatMemberId(member.id) },
  });
}

/**
 * Why etcd refuses to remove a member, in its own words (etcd: server/etcdserver, `mayRemoveMember`). A stopped member
 * is not part of the quorum and can always be removed; enough running members must remain.
 */
export function leaveRejectionReason({ id, learner, node, cluster }: SimulatedEtcdMember): string | undefined {
  if (learner) return undefined;
  const voters = cluster.members.filter((one) => !one.learner);
  if (voters.length < 2) return 'etcdserver: re-configuration failed due to not enough started members';
  if (!node) return undefined;
  const active = voters.filter((one) => one.node && one.id !== id).length;
  return active < 1 + Math.floor((voters.length - 1) / 2) ? 'etcdserver: unhealthy cluster' : undefined;
}

/** Why the legacy upgrade of a control plane is refused, in its own words (talos: internal/pkg/etcd/etcd.go). */
export function upgradeRejection(node: TalosNode): string | undefined {
  const cluster = node.etcd?.cluster;
  if (!cluster?.quorum) return 'failed to acquire upgrade mutex: etcdserver: no leader';
  const { members } = cluster;
  if (members.length === 2)
    return 'error validating etcd for upgrade: etcd member count(2) is insufficient to maintain quorum if upgrade commences';
  const down = members.find((member) => !member.node);
  return (
    down &&
    `error validating etcd for upgrade: etcd member ${formatMemberId(down.id)} is not healthy; all members must be healthy to perform an upgrade`
  );
}

/** Removes the member from the cluster and empties the data directory. Throws etcd's own error when it cannot. */
export function leaveEtcdCluster(node: TalosNode): void {
  const member = node.etcd;
  if (!member) throw new Error('failed to create etcd client: dial tcp 127.0.0.1:2379: connect: connection refused');
  if (!member.cluster.quorum) throw new Error('etcdserver: no leader');
  const rejection = leaveRejectionReason(member);
  if (rejection) throw new Error(rejection);
  stopEtcd(node);
  member.cluster.remove(member);
  const { etcd: _gone, ...rest } = readEphemeral(node);
  writeEphemeral(node, rest);
  node.services.set('etcd', 'Finished', 'Service finished successfully');
  node.world.changed();
}

export const etcdCaFingerprint = (node: TalosNode): string => {
  const crt = node.config?.view.etcdCa.crt ?? '';
  return crt === '' ? '' : certificateFingerprint(decodePem(crt));
};

/** Content of /var. A node that runs from memory loses it with the boot. */
export function readEphemeral(node: TalosNode): EphemeralPartition {
  const disk = node.systemDisk;
  return (disk ? readPartition(disk, 'EPHEMERAL') : inMemory.get(node)) ?? {};
}

export function writeEphemeral(node: TalosNode, content: EphemeralPartition): void {
  const disk = node.systemDisk;
  if (disk) writePartition(disk, 'EPHEMERAL', content);
  else inMemory.set(node, content);
}

const inMemory = new WeakMap<TalosNode, EphemeralPartition>();

/** Member ids as etcd prints them. */
export const formatMemberId = (id: bigint): string => id.toString(16).padStart(16, '0');

/** Host of the cluster endpoint, e.g. `127.42.1.5` of `https://127.42.1.5:6443`, without brackets. */
export function endpointHost(endpoint: string): string {
  return URL.canParse(endpoint) ? hostOfUrl(new URL(endpoint)) : '';
}
