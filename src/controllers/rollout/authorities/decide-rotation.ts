import { type ConditionReason, isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { AuthorityRotation, RotationPhase } from '../../../talos/secrets/authority-rotation.ts';
import type { RotatableAuthority } from '../../../talos/secrets/secrets-bundle.ts';
import { isComparedWith, isInHand, isReady } from '../machine-change.ts';
import type { RolloutHold } from '../policy/rollout-hold.ts';

/** The values of the annotation `rotate-ca`. */
const requested: ReadonlyMap<string, RotatableAuthority> = new Map([
  ['talos', 'os'],
  ['kubernetes', 'kubernetes'],
]);
const titles: Readonly<Record<RotatableAuthority, string>> = { os: 'Talos', kubernetes: 'Kubernetes' };

/** What is known of the rotation of a certificate authority of a cluster. */
export interface RotationView {
  /** The annotation of the Cluster. */
  readonly request: string | undefined;
  /** The rotation that the Secret of the cluster records. */
  readonly rotation: AuthorityRotation | undefined;
  readonly machines: readonly Machine[];
  /** Names of Machines that do not exist yet. */
  readonly missing: readonly string[];
  /** Identifies what a Machine with the configuration of this phase was compared with. */
  readonly comparison: string;
  /** The API server answered in this reconcile. */
  readonly isReachable: boolean;
  /** Another change of the whole cluster is under way, as a sentence. */
  readonly otherChange: string | undefined;
  /** A user holds the changes up. */
  readonly hold: RolloutHold | undefined;
  /** Whether nodes and clients were found to have this phase, in this reconcile. */
  readonly check?: { readonly problem: string | undefined } | undefined;
}

/** What to do next for a rotation. */
export type RotationDecision =
  | { readonly kind: 'none' }
  /** The request cannot be understood. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It was asked for and has not begun. */
  | { readonly kind: 'pending'; readonly reason: ConditionReason; readonly message: string }
  /** Create the new authority and store it: the phase `accept` begins. */
  | { readonly kind: 'begin'; readonly authority: RotatableAuthority }
  /** The request is the one that is being fulfilled. */
  | { readonly kind: 'end-request' }
  /** The rollout brings the phase to the nodes, or something holds it up. */
  | { readonly kind: 'roll'; readonly message: string }
  /** Ask every node. */
  | { readonly kind: 'verify' }
  /** Every node has the phase, and the next one begins. */
  | { readonly kind: 'advance'; readonly rotation: AuthorityRotation };

/** Decides from the view alone. */
export function decideRotation(view: RotationView): RotationDecision {
  const { request, rotation, check } = view;
  if (!rotation) return decideRequest(view);
  if (authorityOf(request) === rotation.authority) return { kind: 'end-request' };
  const obstacle = findObstacle(view);
  if (obstacle !== undefined) return roll(view, rotation, obstacle);
  if (!check) return { kind: 'verify' };
  return check.problem === undefined ? { kind: 'advance', rotation } : roll(view, rotation, check.problem);
}

const authorityOf = (request: string | undefined): RotatableAuthority | undefined => requested.get(request ?? '');

function decideRequest(view: RotationView): RotationDecision {
  const { request } = view;
  if (request === undefined) return { kind: 'none' };
  const authority = authorityOf(request);
  if (!authority) {
    const values = [...requested.keys()].join(' or ');
    const message = `metadata.annotations[rotate-ca]: ${JSON.stringify(request.slice(0, 40))} is unknown and has no effect. Use ${values}, or remove it.`;
    return { kind: 'refused', message };
  }
  const obstacle = findObstacle(view);
  if (obstacle === undefined) return { kind: 'begin', authority };
  const message = `The rotation of the ${titles[authority]} CA has not begun. ${obstacle}`;
  return { kind: 'pending', reason: view.hold?.reason ?? 'RotationPending', message };
}

/**
 * What the next phase waits for. A node without the present phase would be cut off by the next one, so that a Machine that is
 * missing, new, away or on its way out holds the rotation up, too.
 */
function findObstacle(view: RotationView): string | undefined {
  const { machines, missing, hold, isReachable, comparison } = view;
  if (hold) return hold.message;
  if (!isReachable) return 'The API server does not answer.';
  if (view.otherChange !== undefined) return view.otherChange;
  if (missing.length > 0) return `${missing[0]} does not exist yet.`;
  const leaving = machines.find(({ metadata }) => metadata.deletionTimestamp);
  if (leaving) return `${leaving.metadata.name} is being deleted.`;
  const behind = machines.find((machine) => !isAt(machine, comparison));
  if (behind) return `${behind.metadata.name} is not up to date; see the condition UpToDate.`;
  const unready = machines.find((machine) => !isReady(machine));
  if (unready) return `${unready.metadata.name} is not ready.`;
  return machines.length === 0 ? 'No machine exists yet.' : undefined;
}

/** Whether the node was found with exactly the desired configuration of this phase. */
const isAt = (machine: Machine, comparison: string): boolean =>
  isComparedWith(machine, comparison) && isConditionTrue(machine.status?.conditions, 'UpToDate') && !isInHand(machine);

function roll(view: RotationView, rotation: AuthorityRotation, obstacle: string): RotationDecision {
  const { machines, comparison } = view;
  const count = machines.filter((machine) => isAt(machine, comparison)).length;
  const queued = authorityOf(view.request);
  const sentences = [
    describePhase(rotation),
    `${count} of ${machines.length} machines have the configuration.`,
    obstacle,
    ...(queued ? [`The rotation of the ${titles[queued]} CA begins after that.`] : []),
  ];
  return { kind: 'roll', message: sentences.join(' ') };
}

const effects: Readonly<Record<RotationPhase, string>> = {
  accept: 'every node accepts the new one, and the former one still issues certificates',
  issue: 'the new one issues certificates, and the former one is still accepted',
  remove: 'the former one is removed',
};

/** `The Talos CA is rotated, step 1 of 3: every node accepts the new one, and …` */
export const describePhase = ({ authority, phase }: Pick<AuthorityRotation, 'authority' | 'phase'>): string =>
  `The ${titles[authority]} CA is rotated, step ${Object.keys(effects).indexOf(phase) + 1} of 3: ${effects[phase]}.`;

/** The last sentence about a rotation. */
export const describeRotated = (authority: RotatableAuthority): string =>
  `The ${titles[authority]} CA was rotated. Nothing that the former one has issued is accepted any more.`;
