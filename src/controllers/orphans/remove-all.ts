import type { OrphanEntry } from '../../api/orphan-entry.ts';
import type { Services } from '../services.ts';
import { describeStop } from '../step-words.ts';
import type { Evidence } from './evidence.ts';
import type { Found, Ground } from './find.ts';
import { shorten } from './list.ts';
import type { Paper } from './paper.ts';
import { beginRemoval, groundOf, isAskedFor, noMore, walkRemoval } from './remove.ts';
import { objectionTo } from './verdict.ts';

/** An orphan with all that was found out about it. */
export interface Judged extends Found {
  readonly evidence: Evidence;
  /** It goes by itself. */
  readonly isRemoved: boolean;
  /** A removal that has begun goes on: all places had been looked at before. */
  readonly goesOn: boolean;
  readonly entry: OrphanEntry;
}

const silent = 'The place where it is cannot be looked at now. It goes on when it can.';
const nowhere =
  'The place where it is does not stand in the ProviderConfig any more. Put it back until nothing is left there.';

/** Whether what is known of an orphan lies where nobody can look now. */
type IsUnseen = (entry: OrphanEntry) => boolean;

const whyLeft = (entry: OrphanEntry, isUnseen: IsUnseen): string => (isUnseen(entry) ? silent : nowhere);

/** A ProviderConfig is looked at as a whole each time, so not with every breath of a removal. */
const leastSeconds = 5;

/**
 * Writes down which removals go on and which begin, before the first step of any: a process that ends now is followed by one that goes
 * on. The annotation is taken off after that, as what it asked for has begun or was refused.
 */
export async function begin(
  services: Services,
  paper: Paper,
  judged: readonly Judged[],
  asked: ReadonlySet<string> | undefined,
  isUnseen: IsUnseen = () => false,
): Promise<OrphanEntry[]> {
  const { config } = paper;
  const now = services.clock.now();
  const known = config.status?.orphans ?? [];
  const entries = judged.map((one) => {
    const { entry, orphan, evidence, isRemoved, goesOn } = one;
    const before = known.find(({ machine, removal }) => machine === entry.machine && removal);
    const isDecided = before && isAskedFor(before) && objectionTo(orphan, evidence) === undefined;
    // One that nobody has asked for ends where its proof does, say because the machine was started again.
    if (before?.removal && (isDecided || isRemoved || goesOn)) return { ...entry, removal: before.removal };
    const isAsked = asked?.has(entry.machine) ?? false;
    if (!isAsked && !isRemoved) return entry;
    const why = isAsked ? 'A person has asked for it.' : entry.message;
    services.events.record(config, 'Normal', 'OrphanRemoval', `${entry.what}: the removal begins. ${why}`);
    return { ...entry, message: why, removal: beginRemoval(one, isAsked, now) };
  });
  // Of those nothing is left to be seen, but their addresses may be; or where they are cannot be looked at now.
  const seen = new Set(entries.map(({ machine }) => machine));
  entries.push(...known.filter((one) => (one.removal || isUnseen(one)) && !seen.has(one.machine)));
  if (entries.some(({ removal }) => removal)) await paper.write(entries);
  if (asked) await paper.strike();
  return entries;
}

/** Walks on with every removal. Returns what is left then. */
export async function carryOn(
  services: Services,
  paper: Paper,
  grounds: readonly Ground[],
  begun: readonly OrphanEntry[],
  isUnseen: IsUnseen = () => false,
): Promise<{ entries: OrphanEntry[]; againInSeconds?: number }> {
  const entries = new Map(begun.map((entry) => [entry.machine, entry]));
  const waits: number[] = [];
  for (const entry of shorten(begun)) {
    if (!entry.removal) continue;
    const ground = groundOf(entry, grounds);
    if (!ground) {
      entries.set(entry.machine, { ...entry, message: whyLeft(entry, isUnseen) });
      continue;
    }
    const verdict = await walkRemoval(services, ground, entry, async (removal) => {
      entries.set(entry.machine, { ...entry, removal: { ...removal, facts: { ...removal.facts } } });
      await paper.write([...entries.values()]);
    });
    if (verdict.kind === 'finished') {
      entries.delete(entry.machine);
      services.events.record(paper.config, 'Normal', 'OrphanRemoved', `Nothing is left of ${entry.machine}.`);
      continue;
    }
    const last = entries.get(entry.machine) ?? entry;
    const { removal, ...rest } = { ...last, message: describeStop(verdict) ?? '' };
    const isOver = verdict.kind === 'failed' && verdict.reason === noMore;
    entries.set(entry.machine, isOver || !removal ? rest : { ...rest, removal });
    waits.push(Math.max(leastSeconds, verdict.seconds));
  }
  return { entries: [...entries.values()], ...(waits.length > 0 ? { againInSeconds: Math.min(...waits) } : {}) };
}
