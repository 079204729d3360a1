import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { done, fail, type Step, type StepOutcome, wait, waitWithReason } from '../../../engine/step.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import { type EtcdMember, isHealthyMember } from '../../../talos/client/etcd-calls.ts';
import { leaveEtcd, type TalosStepContext } from '../../../talos/join-steps.ts';
import { addressPollSeconds, isAddressMoveLate } from '../../../talos/update/virtual-address-step.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { findProviderConfig, machinesOfCluster } from '../../cluster/view.ts';
import { moveVirtualAddressFrom } from '../../shared/control-planes/release-virtual-address.ts';
import { readMachineFact } from '../../shared/machine-facts.ts';
import type { Services } from '../../shared/services.ts';
import { resolveDesiredSpec } from '../../shared/spec/desired-spec.ts';
import { etcdRemovalsOf } from './etcd-removals.ts';
import {
  applyApproval,
  approvalHint,
  findRemainingCluster,
  hasRunInstalledSystem,
  readRemainingSecrets,
} from './remaining-cluster.ts';

/** When the virtual address was first to move. */
const addressSinceFact = 'leaveAddressSince';

/** The etcd state of one control plane. */
interface EtcdPeer {
  readonly client: TalosClient;
  readonly members: readonly EtcdMember[];
  /** The id of its own member. */
  readonly memberId: string;
  /** It has a leader and no alarms. */
  readonly isHealthy: boolean;
}

/**
 * Before: the machine may run and be a member of etcd. After: none of its members counts for the quorum. Done when etcd
 * does not list it. The node leaves by itself; if it does not answer, another control plane removes its member. The
 * step never breaks the quorum and never removes the last member, unless a user approves with the annotation `approve:
 * <reason of the wait>`.
 */
export const leaveEtcdStep = (services: Services, machine: Machine): Step<TalosStepContext> => ({
  name: 'etcd-left',
  deadlineMinutes: 10,
  async run(context) {
    const cluster = await findRemainingCluster(services, machine, context.signal);
    if (!cluster) return done();
    return applyApproval(services, machine, await leaveRemainingCluster(services, cluster, machine, context));
  },
});

async function leaveRemainingCluster(
  services: Services,
  cluster: Cluster,
  machine: Machine,
  context: TalosStepContext,
): Promise<StepOutcome> {
  const state = await readRemainingSecrets(services, { cluster, machine }, context.signal);
  if (state.kind === 'unusable') {
    const { reason, message } = state.problem;
    return waitWithReason(reason, 60, `${message} ${approvalHint(reason)}`);
  }
  // This is recorded before the bootstrap of etcd. Without the record, etcd holds no data.
  const started = state.kind === 'usable' && (state.secrets.bootstrappedAt ?? state.secrets.bootstrapMachine);
  if (!started) return done();
  const desired = readDesiredControlPlanes(services, cluster);
  const moveAddress = () => moveAddressFirst(services, machine, context);
  const remove = () =>
    withEtcdPeers(services, machine, context, (answers) =>
      removeMember({ machine, desired, moveAddress }, answers, context),
    );
  return await etcdRemovalsOf(services).run(clusterOfMachine(machine).uid, remove, context.signal);
}

/** The number of control planes that the cluster is to have; 0 if it is not known. */
function readDesiredControlPlanes(services: Services, cluster: Cluster): number {
  const config = findProviderConfig(services, cluster);
  const desired = config && resolveDesiredSpec(services, config, cluster);
  return desired && 'spec' in desired ? desired.spec.controlPlane.replicas : 0;
}

/**
 * Asks all control planes of the cluster in parallel, including this one. Control planes that do not answer are left
 * out.
 */
async function withEtcdPeers(
  services: Services,
  machine: Machine,
  { openTalos, signal }: TalosStepContext,
  work: (answers: ReadonlyMap<string, EtcdPeer | undefined>) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const controlPlanes = machinesOfCluster(services, clusterOfMachine(machine)).filter(
    ({ spec }) => spec.role === 'controlplane',
  );
  const clients = new Map<string, TalosClient>();
  for (const controlPlane of [machine, ...controlPlanes]) {
    const address = readMachineFact(controlPlane, 'address');
    if (address !== undefined && !clients.has(controlPlane.metadata.name))
      clients.set(controlPlane.metadata.name, openTalos(address));
  }
  try {
    const all = await Promise.all(
      [...clients].map(async ([name, client]) => [name, await readEtcdPeer(client, signal)] as const),
    );
    return await work(new Map(all));
  } finally {
    await Promise.all([...clients.values()].map((client) => client.close()));
  }
}

async function readEtcdPeer(client: TalosClient, signal: AbortSignal): Promise<EtcdPeer | undefined> {
  try {
    const members = await client.etcdMembers({ signal });
    const status = await client.etcdStatus({ signal });
    return { client, members, memberId: status.memberId, isHealthy: isHealthyMember(status) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

interface MemberRemoval {
  readonly machine: Machine;
  /** The number of control planes that the cluster is to have. */
  readonly desired: number;
  /** What is waited for until another control plane holds the virtual address. */
  readonly moveAddress: () => Promise<StepOutcome | undefined>;
}

async function removeMember(
  { machine, desired, moveAddress }: MemberRemoval,
  all: ReadonlyMap<string, EtcdPeer | undefined>,
  { signal }: TalosStepContext,
): Promise<StepOutcome> {
  const { name } = machine.metadata;
  const own = all.get(name);
  const others = [...all].flatMap(([other, answer]) => (answer && other !== name ? [answer] : []));
  const members = (own ?? others[0])?.members;
  if (!members) return handleNoAnswer(all.size > (all.has(name) ? 1 : 0), hasRunInstalledSystem(machine));
  // Talos names a member after the host name of its node, which is the name of the Machine.
  const member = members.find(({ id }) => id === own?.memberId) ?? members.find((one) => one.name === name);
  if (!member) return done();
  const hold = member.learner
    ? undefined
    : (findQuorumRisk(member, members, others) ?? findOtherReplacement(members, desired));
  if (hold) return hold;
  if (own && own.memberId === member.id) {
    const waiting = await moveAddress();
    if (waiting) return waiting;
    await leaveEtcd(own.client, { signal });
  } else await others[0]?.client.removeEtcdMember(member.id, { signal });
  return wait(1, 'It was removed from etcd, which is verified.');
}

/**
 * A node without etcd has no API server, and its virtual address would stay silent until the others notice. Undefined:
 * another control plane holds it, or none takes it in time.
 */
async function moveAddressFirst(
  services: Services,
  machine: Machine,
  { facts, signal }: TalosStepContext,
): Promise<StepOutcome | undefined> {
  const now = services.clock.now();
  const since = facts[addressSinceFact];
  const result = await moveVirtualAddressFrom(services, machine, signal);
  if (result.kind === 'moved' || (since !== undefined && isAddressMoveLate(String(since), now))) return undefined;
  const seconds = addressPollSeconds;
  return wait(seconds, result.message, since === undefined ? { [addressSinceFact]: now.toISOString() } : undefined);
}

/** Why the member may not leave now: the remaining members must keep the quorum before and after the removal. */
function findQuorumRisk(
  { id }: EtcdMember,
  members: readonly EtcdMember[],
  others: readonly EtcdPeer[],
): StepOutcome | undefined {
  const voters = members.filter((one) => !one.learner && one.id !== id);
  if (voters.length === 0) return rejectLastMember();
  const well = voters.filter((voter) =>
    others.some(({ memberId, isHealthy }) => memberId === voter.id && isHealthy),
  ).length;
  const needed = Math.floor(voters.length / 2) + 1;
  if (well >= needed) return undefined;
  const message = `${well} of the other ${voters.length} members of etcd are healthy, ${needed} are required. The member is removed when they are.`;
  return waitWithReason('EtcdAtRisk', 15, `${message} ${approvalHint('EtcdAtRisk')}`);
}

/** Of several control planes that are deleted at the same time, each waits until the one before it is replaced. */
function findOtherReplacement(members: readonly EtcdMember[], desired: number): StepOutcome | undefined {
  const voters = members.filter(({ learner }) => !learner).length;
  if (voters >= desired) return undefined;
  const message = `etcd has ${voters} voting members of ${desired}: another control plane is replaced first.`;
  return waitWithReason('EtcdAtRisk', 15, `${message} ${approvalHint('EtcdAtRisk')}`);
}

function handleNoAnswer(hasOthers: boolean, mayHoldData: boolean): StepOutcome {
  // A machine without a member has nothing to leave and does not affect the quorum.
  if (!mayHoldData) return done();
  if (!hasOthers) return rejectLastMember();
  const message = 'No control plane answers, and this one must be removed from etcd before it is deleted.';
  return waitWithReason('EtcdSilent', 15, `${message} ${approvalHint('EtcdSilent')}`);
}

const rejectLastMember = (): StepOutcome =>
  fail(
    'LastControlPlane',
    `It is the only member of etcd: deleting it destroys the cluster and its data. To do so, delete the Cluster. ${approvalHint('LastControlPlane')}`,
  );
