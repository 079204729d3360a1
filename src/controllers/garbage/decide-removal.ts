import { annotations } from '../../api/names.ts';
import type { Orphan } from '../../engine/capabilities/orphans.ts';
import type { MachineEvidence } from './machine-evidence.ts';

/** So long nothing of an orphan may run before it is removed without being asked for. */
const gracePeriodSeconds = 24 * 3600;

/** What becomes of an orphan, in words for people. */
export interface RemovalDecision {
  readonly isRemoved: boolean;
  readonly message: string;
}

type OrphanState = Pick<Orphan, 'runs' | 'doubt'>;

const removalHint = `It is removed when its name stands in the annotation ${annotations.removeOrphans}.`;

/**
 * What stands against a removal, whoever asks for it. That there is no Machine was found out before. A claimed address is what is
 * left of one that was deleted by force, and counts as little as that it runs, once a person has decided.
 */
export function findRemovalObjection({ doubt }: OrphanState, { need }: MachineEvidence): string | undefined {
  return doubt ?? need;
}

/**
 * What stands against its going by itself, which takes a proof from either side: on the platform cluster nothing speaks of it any more, and
 * on its system nothing of it runs. That nobody knows what runs is no proof: a platform cluster that was restored from a backup has
 * forgotten Machine and Cluster alike.
 */
export function findAutomaticRemovalObjection(orphan: OrphanState, evidence: MachineEvidence): string | undefined {
  const objection = findRemovalObjection(orphan, evidence);
  if (objection) return objection;
  const { cluster, address } = evidence;
  if (cluster) return `Its Cluster ${cluster} exists. ${removalHint}`;
  if (address) return `The address ${address} is claimed for it. ${removalHint}`;
  return orphan.runs ? `It runs, or nobody can tell. ${removalHint}` : undefined;
}

/**
 * What stands against every removal that has not begun: one of several places cannot be looked at, and may hold what this is a copy
 * of, or what the same key opens.
 */
export const describeUnavailableObjection = (away: readonly string[]): string | undefined =>
  away.length === 0
    ? undefined
    : `It is not removed while ${away.join(', ')} cannot be looked at: what is here may be a copy. One that is gone for good has to be taken out of the ProviderConfig.`;

/** One that nothing stands against goes when that has been so for a day. */
export function decideRemoval(restingSince: string | undefined, now: Date): RemovalDecision {
  const since = restingSince === undefined ? now.getTime() : Date.parse(restingSince);
  if (now.getTime() - since >= gracePeriodSeconds * 1000) {
    return { isRemoved: true, message: 'For a day nothing of it has run, and nothing has spoken of it.' };
  }
  const until = new Date(since + gracePeriodSeconds * 1000).toISOString().replace('.000', '');
  const sooner = removalHint.replace('removed when', 'removed sooner when');
  const message = `It is removed at ${until}, unless something of it runs before, or is spoken of. ${sooner}`;
  return { isRemoved: false, message };
}
