import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { Machine } from '../../../api/machine.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { Services } from '../../shared/services.ts';
import {
  applyNodeConfig,
  type ControlPlaneTrust,
  findHealthProblem,
  findMembershipProblem,
  hasHealthyEtcd,
  observeControlPlaneTrust,
  type TrustDifference,
} from './control-plane.ts';
import type { ControlPlane } from './control-plane-target.ts';
import { moveVirtualAddress } from './move-virtual-address.ts';
import { hashTrustRecord, type TrustRecord, toOidcTrust } from './trust-record.ts';
import { controlPlanesOf, findTrialTimeoutMs, needsTrial } from './trust-trial.ts';
import { WaitDurations } from './wait-durations.ts';

interface RolloutContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Records the control plane of the trial before its configuration is changed. */
  noteTrial(machine: string): Promise<void>;
}

/** The progress of the rollout over all control planes. */
export interface TrustRolloutState {
  /** Number of control planes that have the desired trust. */
  readonly updated: number;
  readonly total: number;
  /** What the rollout waits for; undefined when it is complete. */
  readonly message: string | undefined;
  /** The Machines after the writes of this step. */
  readonly machines: readonly Machine[];
  /** The control plane whose API server did not start with the new trust: the previous trust must be restored. */
  readonly failed?: string;
}

/** Whether any control plane was not yet observed with this trust. */
export const isTrustRolloutDue = (machines: readonly Machine[], record: TrustRecord): boolean =>
  controlPlanesOf(machines).some(({ status }) => status?.trust !== hashTrustRecord(record));

/**
 * Rolls the trust out to the running control planes, one at a time and with at most one change in each call, so that
 * the API stays available, also at the virtual address. All state is observed on the nodes, so that an interrupted
 * rollout continues after a restart or a change of leader. A node is changed only while all others are healthy.
 */
export async function rollOutTrust(
  services: Services,
  cluster: ClusterIdentity,
  machines: readonly Machine[],
  record: TrustRecord,
  context: RolloutContext,
): Promise<TrustRolloutState> {
  const planes = controlPlanesOf(machines);
  const looks = await observeControlPlanes(services, cluster, planes, record, context.signal);
  const current = await recordUpdated(services, machines, looks, hashTrustRecord(record), context);
  const state = {
    updated: planes.length - looks.filter(({ look }) => look.kind !== 'trusts').length,
    machines: current,
  };
  const total = planes.length;
  const { clock, connections } = services;
  const waitingTimes = connections.get('trust-trials', () => new WaitDurations(clock));
  const roll: TrustRollout = { clock, record, onTrial: needsTrial(record, current), waitingTimes, context };
  const failed = await findFailure(roll, looks);
  if (failed !== undefined) return { ...state, total, failed, message: `${failed}: its API server does not come up.` };
  return { ...state, total, ...(await changeNext(roll, looks)) };
}

/** One observation of the control planes and the state that follows from it. */
interface TrustRollout {
  readonly clock: Clock;
  readonly record: TrustRecord;
  /** No control plane was observed with the record, and its trust may be invalid. */
  readonly onTrial: boolean;
  readonly waitingTimes: WaitDurations;
  readonly context: RolloutContext;
}

/** The result of a step: the reason of a wait, or the control plane that failed. */
type RolloutProgress = Pick<TrustRolloutState, 'message' | 'failed'>;

/** The control plane whose API server did not start with the record in time, although its etcd is healthy. */
async function findFailure(
  { record, onTrial, waitingTimes }: TrustRollout,
  looks: readonly ObservedControlPlane[],
): Promise<string | undefined> {
  const stuck = looks.filter(({ plane, look }) => {
    const { name } = plane.machine.metadata;
    const key = `${name} ${hashTrustRecord(record)}`;
    const patience = onTrial && look.kind === 'waits' ? findTrialTimeoutMs(record, name) : undefined;
    if (patience !== undefined) return waitingTimes.see(key) >= patience;
    waitingTimes.forget(key);
    return false;
  });
  const [first] = stuck;
  return first && (await hasHealthyEtcd(first.plane)) ? first.plane.machine.metadata.name : undefined;
}

interface ObservedControlPlane {
  readonly plane: ControlPlane;
  readonly look: ControlPlaneTrust;
}

async function observeControlPlanes(
  services: Services,
  cluster: ClusterIdentity,
  planes: readonly Machine[],
  record: TrustRecord,
  signal: AbortSignal,
): Promise<ObservedControlPlane[]> {
  const [trust, id] = [toOidcTrust(record.entries), hashTrustRecord(record)];
  return await Promise.all(
    planes.map(async (machine): Promise<ObservedControlPlane> => {
      const address = String(machine.status?.progress?.facts['address'] ?? '');
      const plane = { services, cluster, machine, address, signal };
      if (machine.status?.trust === id) return { plane, look: { kind: 'trusts' } };
      if (address === '') return { plane, look: { kind: 'silent', message: 'it is being made' } };
      return { plane, look: await observeControlPlaneTrust(plane, trust, record.before && toOidcTrust(record.before)) };
    }),
  );
}

/** Records the observed trust in the status of the Machines, so that the nodes are not asked again. */
async function recordUpdated(
  { kube }: Services,
  machines: readonly Machine[],
  looks: readonly ObservedControlPlane[],
  trust: string,
  { signal, log }: RolloutContext,
): Promise<Machine[]> {
  const fresh = new Map<string, Machine>();
  for (const { plane, look } of looks) {
    const { name } = plane.machine.metadata;
    if (look.kind !== 'trusts' || plane.machine.status?.trust === trust) continue;
    fresh.set(name, await kube.merge(Machine, { name }, { status: { trust } }, { subresource: 'status' }, signal));
    log.info({ machine: name, trust }, 'control plane trusts the OIDC issuers it is to trust');
  }
  return machines.map((machine) => fresh.get(machine.metadata.name) ?? machine);
}

/** Changes at most one control plane. Returns the reason of a wait; undefined when the rollout is complete. */
async function changeNext(roll: TrustRollout, looks: readonly ObservedControlPlane[]): Promise<RolloutProgress> {
  const waiting = looks.find(({ look }) => look.kind === 'waits') ?? looks.find(({ look }) => look.kind === 'silent');
  let obstacle = waiting && describeObserved(waiting.plane, waiting.look);
  for (const { plane, look } of sortForChange(looks)) {
    const others = looks.filter((other) => other.plane !== plane);
    const why = (await findChangeObstacle(roll, plane, others)) ?? (await findTrialObstacle(roll, plane, look));
    if (why === undefined) return await changeControlPlane(roll, plane, look, others);
    obstacle ??= why;
  }
  return { message: obstacle };
}

/** An API server that is already down must not count as a failure of the new trust. */
async function findTrialObstacle(
  { record, onTrial }: TrustRollout,
  plane: ControlPlane,
  look: TrustDifference,
): Promise<string | undefined> {
  const { name } = plane.machine.metadata;
  if (!onTrial || !look.runsBefore || record.trial === name) return undefined;
  const why = await findHealthProblem(plane);
  return why === undefined ? undefined : `${name}: ${why}.`;
}

/** The control planes to change. The holder of the virtual address is last, so that the address moves only once. */
function sortForChange(
  looks: readonly ObservedControlPlane[],
): (ObservedControlPlane & { readonly look: TrustDifference })[] {
  const differing = looks.filter(
    (seen): seen is ObservedControlPlane & { look: TrustDifference } => seen.look.kind === 'differs',
  );
  const rank = ({ look }: { look: TrustDifference }): number => (look.sharedAddress.kind === 'held' ? 1 : 0);
  return differing.sort((a, b) => rank(a) - rank(b));
}

async function changeControlPlane(
  roll: TrustRollout,
  plane: ControlPlane,
  look: TrustDifference,
  others: readonly ObservedControlPlane[],
): Promise<RolloutProgress> {
  const { clock, record, context, onTrial } = roll;
  const { log } = context;
  const name = plane.machine.metadata.name;
  const successors = others.map((other) => other.plane);
  if (onTrial && record.trial !== name) await context.noteTrial(name);
  const notPassed = await moveVirtualAddress({ clock, log }, plane, look.sharedAddress, successors);
  const refusal = notPassed ?? (await applyNodeConfig(plane, look.config));
  // Talos would reject the same configuration again.
  if (onTrial && refusal?.code === 'TALOS_CONFIG_REFUSED')
    return { message: `${name}: ${refusal.message}.`, failed: name };
  if (refusal !== undefined) return { message: `${name}: ${refusal.message}.` };
  log.info({ machine: name }, 'control plane was told which OIDC issuers to trust');
  return { message: `${name}: its API server restarts.` };
}

/**
 * Why a node cannot be changed now: if another control plane is down at the same time, the API may become unavailable.
 */
async function findChangeObstacle(
  { record }: TrustRollout,
  plane: ControlPlane,
  others: readonly ObservedControlPlane[],
): Promise<string | undefined> {
  // No API server has run yet, and none can before the rollback.
  if (record.initial && record.takenBack) return undefined;
  const restless = others.find(({ look }) => look.kind === 'waits' || look.kind === 'silent');
  if (restless) return describeObserved(restless.plane, restless.look);
  for (const other of others) {
    const why = await findHealthProblem(other.plane);
    if (why !== undefined) return `${other.plane.machine.metadata.name}: ${why}.`;
  }
  const [witness] = others;
  const incomplete = witness && (await findMembershipProblem(witness.plane, others.length + 1));
  return incomplete === undefined ? undefined : `${plane.machine.metadata.name}: ${incomplete}.`;
}

const describeObserved = ({ machine }: ControlPlane, look: ControlPlaneTrust): string =>
  `${machine.metadata.name}: ${'message' in look ? look.message : 'it is being looked at'}.`;
