import { annotations } from '../../api/names.ts';
import type { Orphan } from '../../engine/orphans.ts';
import type { Evidence } from './evidence.ts';

/** So long nothing of an orphan may run before it is removed without being asked for. */
const graceSeconds = 24 * 3600;

/** What becomes of an orphan, in words for people. */
export interface Verdict {
  readonly isRemoved: boolean;
  readonly message: string;
}

type Known = Pick<Orphan, 'runs' | 'doubt'>;

const remedy = `It is removed when its name stands in the annotation ${annotations.removeOrphans}.`;

/**
 * What stands against a removal, whoever asks for it. That there is no Machine was found out before. A claimed address is what is
 * left of one that was deleted by force, and counts as little as that it runs, once a person has decided.
 */
export function objectionTo({ doubt }: Known, { need }: Evidence): string | undefined {
  return doubt ?? need;
}

/**
 * What stands against its going by itself, which takes a proof from either side: on the platform cluster nothing speaks of it any more, and
 * on its system nothing of it runs. That nobody knows what runs is no proof: a platform cluster that was restored from a backup has
 * forgotten Machine and Cluster alike.
 */
export function whatStandsAgainst(orphan: Known, evidence: Evidence): string | undefined {
  const objection = objectionTo(orphan, evidence);
  if (objection) return objection;
  const { cluster, address } = evidence;
  if (cluster) return `Its Cluster ${cluster} exists. ${remedy}`;
  if (address) return `The address ${address} is claimed for it. ${remedy}`;
  return orphan.runs ? `It runs, or nobody can tell. ${remedy}` : undefined;
}

/**
 * What stands against every removal that has not begun: one of several places cannot be looked at, and may hold what this is a copy
 * of, or what the same key opens.
 */
export const whatIsUnseen = (away: readonly string[]): string | undefined =>
  away.length === 0
    ? undefined
    : `It is not removed while ${away.join(', ')} cannot be looked at: what is here may be a copy. One that is gone for good has to be taken out of the ProviderConfig.`;

/** One that nothing stands against goes when that has been so for a day. */
export function judge(restingSince: string | undefined, now: Date): Verdict {
  const since = restingSince === undefined ? now.getTime() : Date.parse(restingSince);
  if (now.getTime() - since >= graceSeconds * 1000) {
    return { isRemoved: true, message: 'For a day nothing of it has run, and nothing has spoken of it.' };
  }
  const until = new Date(since + graceSeconds * 1000).toISOString().replace('.000', '');
  const sooner = remedy.replace('removed when', 'removed sooner when');
  const message = `It is removed at ${until}, unless something of it runs before, or is spoken of. ${sooner}`;
  return { isRemoved: false, message };
}
