import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { Machine } from '../../../api/machine.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { Services } from '../../shared/services.ts';
import {
  applyNodeConfig,
  type ControlPlane,
  type ControlPlaneTrust,
  findHealthProblem,
  findMembershipProblem,
  hasHealthyEtcd,
  observeControlPlaneTrust,
  type TrustDifference,
} from './control-plane.ts';
import { moveVirtualAddress } from './move-virtual-address.ts';
import { hashTrustRecord, type TrustRecord, toOidcTrust } from './trust-record.ts';
import { controlPlanesOf, findTrialTimeoutMs, needsTrial } from './trust-trial.ts';
import { WaitDurations } from './wait-durations.ts';

interface RolloutContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Writes down which control plane is about to try the record, before it is told to. */
  noteTrial(machine: string): Promise<void>;
}

/** How far the control planes are. */
export interface TrustRolloutState {
  /** Those that trust what they are to trust, and all of them. */
  readonly updated: number;
  readonly total: number;
  /** What the roll waits for; undefined when nothing is left to do. */
  readonly message: string | undefined;
  /** The Machines as they are now. */
  readonly machines: readonly Machine[];
  /** The control plane whose API server did not come up with it: what was in force before has to come back. */
  readonly failed?: string;
}

/** Whether any control plane was not seen with this trust yet. */
export const isTrustRolloutDue = (machines: readonly Machine[], record: TrustRecord): boolean =>
  controlPlanesOf(machines).some(({ status }) => status?.trust !== hashTrustRecord(record));

/**
 * Brings the running control planes to trust these issuers, one at a time and by one look or change in each call, so that
 * the API stays available, at the address that they share as well. Everything is seen on the nodes themselves: whoever is interrupted, and whoever follows, goes on
 * from there. A node is changed only while all others are whole.
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

/** One look at the control planes, and what follows from it. */
interface TrustRollout {
  readonly clock: Clock;
  readonly record: TrustRecord;
  /** No control plane was seen with it, and it may be that none can be. */
  readonly onTrial: boolean;
  readonly waitingTimes: WaitDurations;
  readonly context: RolloutContext;
}

/** What came of a step: what is waited for, or the control plane that cannot have it. */
type RolloutProgress = Pick<TrustRolloutState, 'message' | 'failed'>;

/** The control plane that had time enough to come up with the record, and nothing else that keeps it from it. */
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

/** Writes down on the Machines what was seen, so that nobody has to ask again. */
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

/** Changes at most one. Says what is waited for; nothing when there is nothing left to do. */
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

/** An API server that is away already must not be blamed on what it is told next. */
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

/** Those that are to be changed. Whoever holds the shared address is last, so that it changes hands once. */
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
  // What Talos itself refuses it will refuse again.
  if (onTrial && refusal?.code === 'TALOS_CONFIG_REFUSED')
    return { message: `${name}: ${refusal.message}.`, failed: name };
  if (refusal !== undefined) return { message: `${name}: ${refusal.message}.` };
  log.info({ machine: name }, 'control plane was told which OIDC issuers to trust');
  return { message: `${name}: its API server restarts.` };
}

/** Why a node may not be changed now: with it and another one away, the API could be away. */
async function findChangeObstacle(
  { record }: TrustRollout,
  plane: ControlPlane,
  others: readonly ObservedControlPlane[],
): Promise<string | undefined> {
  // None has served yet, and none can before it is taken back.
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
