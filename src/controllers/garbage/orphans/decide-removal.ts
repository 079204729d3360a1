import { annotations } from '../../../api/names.ts';
import type { Orphan } from '../../../engine/capabilities/orphans.ts';
import { gracePeriodSeconds } from '../garbage-source.ts';
import type { MachineEvidence } from '../machine-evidence.ts';

/** Whether an orphan is removed, with a message for the status. */
export interface RemovalDecision {
  readonly isRemoved: boolean;
  readonly message: string;
}

type OrphanState = Pick<Orphan, 'isRunning' | 'uncertainty'>;

const removalHint = `To remove it, add its name to the annotation ${annotations.removeOrphans}.`;

/**
 * The objection to any removal, requested or automatic. The caller has verified that the Machine does not exist. A
 * claimed address remains of every Machine that was deleted by force: like a running VM, it does not prevent a removal
 * that a user has requested.
 */
export function findRemovalObjection(
  { uncertainty }: OrphanState,
  { needReason: need }: MachineEvidence,
): string | undefined {
  return uncertainty ?? need;
}

/**
 * The objection to an automatic removal. That needs two proofs: no object on the platform cluster refers to the orphan,
 * and nothing of it runs on its system. A missing Machine alone proves nothing: a platform cluster that was restored
 * from a backup may lack Machine and Cluster.
 */
export function findAutomaticRemovalObjection(orphan: OrphanState, evidence: MachineEvidence): string | undefined {
  const rejection = findRemovalObjection(orphan, evidence);
  if (rejection) return rejection;
  const { cluster, address } = evidence;
  if (cluster) return `Its Cluster ${cluster} exists. ${removalHint}`;
  if (address) return `The address ${address} is claimed for it. ${removalHint}`;
  return orphan.isRunning ? `It runs, or its state is unknown. ${removalHint}` : undefined;
}

/**
 * The objection to every removal that has not begun: an unreachable failure domain may hold the original of this copy,
 * or disks that the same key opens.
 */
export const describeUnavailableObjection = (away: readonly string[]): string | undefined =>
  away.length === 0
    ? undefined
    : `It is not removed while ${away.join(', ')} cannot be searched: these resources may be a copy. Remove a permanently lost system from the ProviderConfig.`;

/** An orphan without objection is removed after a day in this state. */
export function decideRemoval(unusedSince: string | undefined, now: Date): RemovalDecision {
  const since = unusedSince === undefined ? now.getTime() : Date.parse(unusedSince);
  if (now.getTime() - since >= gracePeriodSeconds * 1000) {
    return { isRemoved: true, message: 'For a day it was not running and not referenced.' };
  }
  const until = new Date(since + gracePeriodSeconds * 1000).toISOString().replace('.000', '');
  const sooner = removalHint.replace('removed when', 'removed sooner when');
  const message = `It is removed at ${until}, unless it is running or referenced before. ${sooner}`;
  return { isRemoved: false, message };
}
