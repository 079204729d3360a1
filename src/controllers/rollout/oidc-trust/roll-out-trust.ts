import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { Machine } from '../../../api/machine.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { type ControlPlane, controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import {
  findHealthProblem,
  findMembershipProblem,
  hasHealthyEtcd,
} from '../../shared/control-planes/health-problems.ts';
import { applyNodeConfig } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';
import { moveVirtualAddress } from './move-virtual-address.ts';
import { type ControlPlaneTrust, observeControlPlaneTrust, type TrustDifference } from './observe-trust.ts';
import { hashTrustRecord, type TrustRecord, toOidcTrust } from './trust-record.ts';
import { controlPlanesOf, findTrialTimeoutMs, needsTrial } from './trust-trial.ts';
import { WaitDurations } from './wait-durations.ts';

interface RolloutContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Records the control plane of the trial before its configuration is changed. */
  recordTrial(machine: string): Promise<void>;
}

/** The progress of the rollout over all control planes. */
export interface TrustRolloutState {
  /** Number of control planes that have the desired trust. */
  readonly updated: number;
  readonly total: number;
  /** The reason for waiting; undefined when it is complete. */
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
  const controlPlanes = controlPlanesOf(machines);
  const observations = await observeControlPlanes(services, cluster, controlPlanes, record, context.signal);
  const current = await recordUpdated(services, machines, observations, hashTrustRecord(record), context);
  const state = {
    updated: controlPlanes.length - observations.filter(({ observation }) => observation.kind !== 'trusts').length,
    machines: current,
  };
  const total = controlPlanes.length;
  const { clock, connections } = services;
  const waitingTimes = connections.get('trust-trials', () => new WaitDurations(clock));
  const rollout: TrustRollout = { clock, record, onTrial: needsTrial(record, current), waitingTimes, context };
  const failed = await findFailure(rollout, observations);
  if (failed !== undefined) return { ...state, total, failed, message: `${failed}: its API server does not start.` };
  return { ...state, total, ...(await changeNext(rollout, observations)) };
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
  observations: readonly ObservedControlPlane[],
): Promise<string | undefined> {
  const stalled = observations.filter(({ controlPlane, observation }) => {
    const { name } = controlPlane.machine.metadata;
    const key = `${name} ${hashTrustRecord(record)}`;
    const timeoutMs = onTrial && observation.kind === 'waits' ? findTrialTimeoutMs(record, name) : undefined;
    if (timeoutMs !== undefined) return waitingTimes.record(key) >= timeoutMs;
    waitingTimes.forget(key);
    return false;
  });
  const [first] = stalled;
  return first && (await hasHealthyEtcd(first.controlPlane)) ? first.controlPlane.machine.metadata.name : undefined;
}

interface ObservedControlPlane {
  readonly controlPlane: ControlPlane;
  readonly observation: ControlPlaneTrust;
}

async function observeControlPlanes(
  services: Services,
  cluster: ClusterIdentity,
  controlPlanes: readonly Machine[],
  record: TrustRecord,
  signal: AbortSignal,
): Promise<ObservedControlPlane[]> {
  const [trust, id] = [toOidcTrust(record.entries), hashTrustRecord(record)];
  return await Promise.all(
    controlPlanes.map(async (machine): Promise<ObservedControlPlane> => {
      const controlPlane = controlPlaneOf(services, cluster, machine, signal);
      if (machine.status?.trust === id) return { controlPlane, observation: { kind: 'trusts' } };
      if (controlPlane.address === '')
        return { controlPlane, observation: { kind: 'silent', message: 'it is being created' } };
      return {
        controlPlane,
        observation: await observeControlPlaneTrust(controlPlane, trust, record.before && toOidcTrust(record.before)),
      };
    }),
  );
}

/** Records the observed trust in the status of the Machines, so that the nodes are not asked again. */
async function recordUpdated(
  { kube }: Services,
  machines: readonly Machine[],
  observations: readonly ObservedControlPlane[],
  trust: string,
  { signal, log }: RolloutContext,
): Promise<Machine[]> {
  const fresh = new Map<string, Machine>();
  for (const { controlPlane, observation } of observations) {
    const { name } = controlPlane.machine.metadata;
    if (observation.kind !== 'trusts' || controlPlane.machine.status?.trust === trust) continue;
    fresh.set(name, await kube.merge(Machine, { name }, { status: { trust } }, { subresource: 'status' }, signal));
    log.info({ machine: name, trust }, 'control plane trusts the configured OIDC issuers');
  }
  return machines.map((machine) => fresh.get(machine.metadata.name) ?? machine);
}

/** Changes at most one control plane. Returns the reason of a wait; undefined when the rollout is complete. */
async function changeNext(
  rollout: TrustRollout,
  observations: readonly ObservedControlPlane[],
): Promise<RolloutProgress> {
  const waiting =
    observations.find(({ observation }) => observation.kind === 'waits') ??
    observations.find(({ observation }) => observation.kind === 'silent');
  let problem = waiting && describeObserved(waiting.controlPlane, waiting.observation);
  for (const { controlPlane, observation } of sortForChange(observations)) {
    const others = observations.filter((other) => other.controlPlane !== controlPlane);
    const why =
      (await findRolloutBlocker(rollout, controlPlane, others)) ??
      (await findTrialObstacle(rollout, controlPlane, observation));
    if (why === undefined) return await changeControlPlane(rollout, controlPlane, observation, others);
    problem ??= why;
  }
  return { message: problem };
}

/** An API server that is already down must not count as a failure of the new trust. */
async function findTrialObstacle(
  { record, onTrial }: TrustRollout,
  controlPlane: ControlPlane,
  observation: TrustDifference,
): Promise<string | undefined> {
  const { name } = controlPlane.machine.metadata;
  if (!onTrial || !observation.isEarlierRun || record.trial === name) return undefined;
  const why = await findHealthProblem(controlPlane);
  return why === undefined ? undefined : `${name}: ${why}.`;
}

/** The control planes to change. The holder of the virtual address is last, so that the address moves only once. */
function sortForChange(
  observations: readonly ObservedControlPlane[],
): (ObservedControlPlane & { readonly observation: TrustDifference })[] {
  const differing = observations.filter(
    (seen): seen is ObservedControlPlane & { observation: TrustDifference } => seen.observation.kind === 'differs',
  );
  const rank = ({ observation }: { observation: TrustDifference }): number =>
    observation.sharedAddress.kind === 'held' ? 1 : 0;
  return differing.sort((a, b) => rank(a) - rank(b));
}

async function changeControlPlane(
  rollout: TrustRollout,
  controlPlane: ControlPlane,
  observation: TrustDifference,
  others: readonly ObservedControlPlane[],
): Promise<RolloutProgress> {
  const { clock, record, context, onTrial } = rollout;
  const { log } = context;
  const name = controlPlane.machine.metadata.name;
  const successors = others.map((other) => other.controlPlane);
  if (onTrial && record.trial !== name) await context.recordTrial(name);
  const notPassed = await moveVirtualAddress({ clock, log }, controlPlane, observation.sharedAddress, successors);
  const rejection = notPassed ?? (await applyNodeConfig(controlPlane, observation.config));
  // Talos would reject the same configuration again.
  if (onTrial && rejection?.code === 'TALOS_CONFIG_REFUSED')
    return { message: `${name}: ${rejection.message}.`, failed: name };
  if (rejection !== undefined) return { message: `${name}: ${rejection.message}.` };
  log.info({ machine: name }, 'control plane was configured with the OIDC issuers');
  return { message: `${name}: its API server restarts.` };
}

/**
 * Why a node cannot be changed now: if another control plane is down at the same time, the API may become unavailable.
 */
async function findRolloutBlocker(
  { record }: TrustRollout,
  controlPlane: ControlPlane,
  others: readonly ObservedControlPlane[],
): Promise<string | undefined> {
  // No API server has run yet, and none can before the rollback.
  if (record.initial && record.takenBack) return undefined;
  const unsettled = others.find(({ observation }) => observation.kind === 'waits' || observation.kind === 'silent');
  if (unsettled) return describeObserved(unsettled.controlPlane, unsettled.observation);
  for (const other of others) {
    const why = await findHealthProblem(other.controlPlane);
    if (why !== undefined) return `${other.controlPlane.machine.metadata.name}: ${why}.`;
  }
  const [witness] = others;
  const incomplete = witness && (await findMembershipProblem(witness.controlPlane, others.length + 1));
  return incomplete === undefined ? undefined : `${controlPlane.machine.metadata.name}: ${incomplete}.`;
}

const describeObserved = ({ machine }: ControlPlane, observation: ControlPlaneTrust): string =>
  `${machine.metadata.name}: ${'message' in observation ? observation.message : 'it is being checked'}.`;
