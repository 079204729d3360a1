import type { Machine, RemediationAction } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { RemediationSpec } from '../../api/schema/remediation-schema.ts';
import { isFutureTime } from '../../lib/recorded-time.ts';
import { isInHand, isUpdating } from '../rollout/machine-change.ts';
import { type ActionChoice, addMinutes, chooseAction, recoveryMinutes } from './choose-action.ts';
import type { Remediation } from './remediation-record.ts';
import {
  findUnhealthy,
  hasHealthyNode,
  isInMaintenance,
  isRemediatedByReplacement,
  type UnhealthyMachine,
} from './unhealthy-machines.ts';

/** The Machines of a cluster, and what limits their remediation. */
export interface RemediationView {
  readonly machines: readonly Machine[];
  /** How many nodes each pool is to have. */
  readonly pools: readonly { readonly pool: string; readonly replicas: number }[];
  /** The control plane whose address is the endpoint of the cluster: it is never replaced. */
  readonly endpointMachine: string | undefined;
  readonly policy: RemediationSpec;
  readonly restartAttempts: number;
  readonly records: readonly Remediation[];
  /** The API server answered in this reconcile. */
  readonly isReachable: boolean;
  /** The OIDC issuers of the control planes are being changed. */
  readonly isTrustPending: boolean;
  /** Names of Machines that do not exist yet. */
  readonly missing: readonly string[];
  /** Why other clusters keep this one from being remediated, by Machine. */
  readonly siteProblems: ReadonlyMap<string, SiteProblem>;
  readonly now: Date;
}

/** Nodes of another cluster in the same place failed at the same time. */
export interface SiteProblem {
  readonly message: string;
  /** A restart, which loses nothing, is tried then. */
  readonly restartAt: Date;
}

/** What to do for the unhealthy nodes of a cluster. */
export type RemediationDecision =
  | { readonly kind: 'none' }
  /** `until`: when the reason for waiting ends by itself. */
  | { readonly kind: 'wait'; readonly message: string; readonly until?: Date | undefined; readonly isInHand?: true }
  /** Nothing more is done before a user acts. */
  | { readonly kind: 'stop'; readonly message: string }
  /** The request is over: the node is healthy again, or nothing more is done for it. Other work may go on. */
  | { readonly kind: 'withdraw'; readonly machine: Machine }
  | {
      readonly kind: 'act';
      readonly machine: Machine;
      readonly action: RemediationAction;
      readonly attempt: number;
      /** Why, as a sentence. */
      readonly message: string;
    };

/** Decides from the view alone. One Machine of a cluster at a time. */
export function decideRemediation(view: RemediationView): RemediationDecision {
  const healthy = view.machines.find((one) => one.spec.remediation && hasHealthyNode(one));
  if (healthy) return { kind: 'withdraw', machine: healthy };
  const unhealthy = view.machines
    .flatMap((machine) => findUnhealthy(machine) ?? [])
    // The rollout deals with the Machine that it changes.
    .filter(({ machine }) => !isInHand(machine))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
  const [first] = unhealthy;
  if (!first) return { kind: 'none' };
  const decisions = unhealthy.map((one) => decideFor(one, unhealthy, view));
  const ended = unhealthy.find(({ machine }, i) => machine.spec.remediation && decisions[i]?.kind === 'stop');
  if (ended) return { kind: 'withdraw', machine: ended.machine };
  return (
    decisions.find(({ kind }) => kind === 'act') ??
    decisions.find((one) => one.kind === 'wait' && one.isInHand) ??
    describeFirst(decisions)
  );
}

/** A Machine whose request is under way. `until`: when its node is not expected back from a restart any more. */
interface Handled {
  readonly machine: Machine;
  readonly until?: Date;
}

function findHandled(machines: readonly Machine[], now: Date): Handled | undefined {
  for (const machine of machines) {
    const { remediation } = machine.spec;
    if (!remediation || machine.metadata.deletionTimestamp) continue;
    if (remediation.action === 'Replace') return { machine };
    const until = addMinutes(new Date(remediation.requestedAt), recoveryMinutes);
    // The time of its condition is corrected, so that the node gets its time to come back from there.
    if (until > now && !isFutureTime(remediation.requestedAt, now)) return { machine, until };
  }
  return undefined;
}

/** What the node waits for that is unhealthy for longest; until the first of all can go on. */
function describeFirst(decisions: readonly RemediationDecision[]): RemediationDecision {
  const [first] = decisions;
  const ends = decisions.flatMap((one) => (one.kind === 'wait' && one.until ? [one.until] : []));
  const [until] = ends.sort((a, b) => a.getTime() - b.getTime());
  if (first?.kind === 'wait' || (first?.kind === 'stop' && until))
    return { kind: 'wait', message: first.message, until };
  return first ?? { kind: 'none' };
}

function decideFor(
  one: UnhealthyMachine,
  unhealthy: readonly UnhealthyMachine[],
  view: RemediationView,
): RemediationDecision {
  const { machine } = one;
  const text = (message: string): string => `${machine.metadata.name}: ${one.message} ${message}`;
  const requested = readRequestedAction(machine);
  if (isInMaintenance(machine)) return { kind: 'stop', message: text('The Machine has the annotation maintenance.') };
  if (view.policy.strategy === 'None' && !requested)
    return { kind: 'stop', message: text('Nothing is done, because spec.remediation.strategy is None.') };
  const choice = chooseAction(one, { ...view, requested });
  const handled = findHandled([machine, ...view.machines], view.now);
  if (handled && isHeldUpBy(handled.machine, machine, choice, requested))
    return { kind: 'wait', message: describeHandled(handled.machine), until: handled.until, isInHand: true };
  if (choice.kind !== 'act') return { ...choice, message: text(choice.message) };
  const brake = findBrake(one, choice.action, unhealthy, view, requested !== undefined);
  if (brake) {
    const message = text(brake.message);
    return brake.needsUser ? { kind: 'stop', message } : { kind: 'wait', message, until: brake.until };
  }
  return { kind: 'act', machine, action: choice.action, attempt: choice.attempt, message: one.message };
}

/** A replacement may wait for hardware for a long time: the workers of other Machines are restarted meanwhile. */
function isHeldUpBy(
  handled: Machine,
  machine: Machine,
  choice: ActionChoice,
  requested: RemediationAction | undefined,
): boolean {
  if (handled === machine) return isRemediatedByReplacement(machine) || requested === undefined;
  const isRestart = choice.kind === 'act' && choice.action === 'Restart' && machine.spec.role === 'worker';
  return !(isRestart && isRemediatedByReplacement(handled));
}

const describeHandled = (machine: Machine): string =>
  isRemediatedByReplacement(machine)
    ? `${machine.metadata.name} is being replaced, because its node is unhealthy.`
    : `${machine.metadata.name} is being restarted, because its node is unhealthy.`;

interface Brake {
  readonly message: string;
  /** When it ends by itself. */
  readonly until?: Date | undefined;
  /** Only a user can end it. */
  readonly needsUser?: true;
}

function findBrake(
  { machine }: UnhealthyMachine,
  action: RemediationAction,
  unhealthy: readonly UnhealthyMachine[],
  view: RemediationView,
  isRequested: boolean,
): Brake | undefined {
  if (!view.isReachable) return { message: 'The API server does not answer.' };
  if (view.isTrustPending) return { message: 'The OIDC issuers of the control planes are being changed.' };
  const updating = view.machines.find(isUpdating);
  if (updating) return { message: `${updating.metadata.name} is being updated.` };
  const ofRole = machine.spec.role === 'controlplane' ? findQuorumBrake(machine, view) : undefined;
  if (ofRole) return ofRole;
  if (action === 'Replace') {
    const ofReplacement = findReplacementBrake(machine, view);
    if (ofReplacement) return ofReplacement;
  }
  return isRequested ? undefined : (findPoolBrake(machine, unhealthy, view) ?? findSiteBrake(machine, action, view));
}

/** etcd must keep its quorum without this member. The only control plane is never restarted. */
function findQuorumBrake(machine: Machine, { machines }: RemediationView): Brake | undefined {
  const controlPlanes = machines.filter(({ spec }) => spec.role === 'controlplane');
  const healthy = controlPlanes.filter((one) => one !== machine && hasHealthyNode(one)).length;
  const quorum = Math.floor(controlPlanes.length / 2) + 1;
  if (healthy >= quorum) return undefined;
  if (controlPlanes.length === 1)
    return { message: 'It is the only control plane. Restart its machine yourself.', needsUser: true };
  return { message: `Only ${healthy} other control planes are healthy, and etcd needs ${quorum} members.` };
}

/** Nothing else may be on its way in the cluster: it could be the remedy, or fail for the same reason. */
function findReplacementBrake(machine: Machine, view: RemediationView): Brake | undefined {
  const { name } = machine.metadata;
  if (name === view.endpointMachine)
    return { message: 'Its address is the endpoint of the cluster, so it is not replaced.', needsUser: true };
  const leaving = view.machines.find(({ metadata }) => metadata.deletionTimestamp);
  if (leaving) return { message: `${leaving.metadata.name} is being deleted.` };
  const [missing] = view.missing;
  if (missing !== undefined) return { message: `${missing} does not exist yet.` };
  const making = view.machines.find(isBeingProvisioned);
  return making && { message: `${making.metadata.name} is being provisioned.` };
}

const isBeingProvisioned = ({ status }: Machine): boolean =>
  status?.progress === undefined || (status.progress.plan === 'provision' && status.progress.finishedAt === undefined);

/** Many nodes at once do not fail for a reason of their own. */
function findPoolBrake(
  { spec: { pool } }: Machine,
  unhealthy: readonly UnhealthyMachine[],
  { pools, policy: { maxUnhealthyPercent } }: RemediationView,
): Brake | undefined {
  const replicas = pools.find((one) => one.pool === pool)?.replicas ?? 0;
  const ill = unhealthy.filter(({ machine }) => machine.spec.pool === pool).length;
  const allowed = Math.max(1, Math.floor((replicas * maxUnhealthyPercent) / 100));
  if (ill <= allowed) return undefined;
  const message = `${ill} of ${replicas} nodes of the pool ${pool} are unhealthy, more than the ${allowed} that spec.remediation.maxUnhealthyPercent allows. The cause is probably none of the nodes. The annotation remediate on the Machine does without this limit.`;
  return { message };
}

function findSiteBrake(machine: Machine, action: RemediationAction, view: RemediationView): Brake | undefined {
  const problem = view.siteProblems.get(machine.metadata.name);
  if (!problem) return undefined;
  if (action === 'Replace') return { message: problem.message };
  return problem.restartAt <= view.now ? undefined : { message: problem.message, until: problem.restartAt };
}

/** What a user asks for; undefined: nothing, or the value is unknown. */
export function readRequestedAction({ metadata }: Machine): RemediationAction | undefined {
  const value = metadata.annotations?.[annotations.remediate];
  return value === 'restart' ? 'Restart' : value === 'replace' ? 'Replace' : undefined;
}
