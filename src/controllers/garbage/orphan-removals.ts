import type { OrphanEntry } from '../../api/orphan-entry.ts';
import { describeStepProgress } from '../shared/describe-step-progress.ts';
import type { Services } from '../shared/services.ts';
import { findRemovalObjection } from './decide-removal.ts';
import type { MachineEvidence } from './machine-evidence.ts';
import { selectListedOrphans } from './orphan-entries.ts';
import type { OrphanStatusWriter } from './orphan-status-writer.ts';
import {
  createRemovalRecord,
  findRemovalScope,
  isRequestedRemoval,
  noLongerOrphanReason,
  runRemovalSteps,
} from './remove-orphan.ts';
import type { FoundOrphan, OrphanScope } from './scan-orphans.ts';

/** An orphan with all that was found out about it. */
export interface AssessedOrphan extends FoundOrphan {
  readonly evidence: MachineEvidence;
  /** It goes by itself. */
  readonly isRemoved: boolean;
  /** A removal that has begun goes on: all places had been looked at before. */
  readonly goesOn: boolean;
  readonly entry: OrphanEntry;
}

const unreachableMessage = 'The place where it is cannot be looked at now. It goes on when it can.';
const unknownFailureDomainMessage =
  'The place where it is does not stand in the ProviderConfig any more. Put it back until nothing is left there.';

/** Whether what is known of an orphan lies where nobody can look now. */
type IsUnobservable = (entry: OrphanEntry) => boolean;

const describeBlockedRemoval = (entry: OrphanEntry, isUnseen: IsUnobservable): string =>
  isUnseen(entry) ? unreachableMessage : unknownFailureDomainMessage;

/** A ProviderConfig is looked at as a whole each time, so not with every breath of a removal. */
const minRequeueSeconds = 5;

/**
 * Writes down which removals go on and which begin, before the first step of any: a process that ends now is followed by one that goes
 * on. The annotation is taken off after that, as what it asked for has begun or was refused.
 */
export async function beginRemovals(
  services: Services,
  paper: OrphanStatusWriter,
  judged: readonly AssessedOrphan[],
  asked: ReadonlySet<string> | undefined,
  isUnseen: IsUnobservable = () => false,
): Promise<OrphanEntry[]> {
  const { config } = paper;
  const now = services.clock.now();
  const known = config.status?.orphans ?? [];
  const entries = judged.map((one) => {
    const { entry, orphan, evidence, isRemoved, goesOn } = one;
    const before = known.find(({ machine, removal }) => machine === entry.machine && removal);
    const isDecided = before && isRequestedRemoval(before) && findRemovalObjection(orphan, evidence) === undefined;
    // One that nobody has asked for ends where its proof does, say because the machine was started again.
    if (before?.removal && (isDecided || isRemoved || goesOn)) return { ...entry, removal: before.removal };
    const isAsked = asked?.has(entry.machine) ?? false;
    if (!isAsked && !isRemoved) return entry;
    const why = isAsked ? 'A person has asked for it.' : entry.message;
    services.events.record(config, 'Normal', 'OrphanRemoval', `${entry.what}: the removal begins. ${why}`);
    return { ...entry, message: why, removal: createRemovalRecord(one, isAsked, now) };
  });
  // Of those nothing is left to be seen, but their addresses may be; or where they are cannot be looked at now.
  const seen = new Set(entries.map(({ machine }) => machine));
  entries.push(...known.filter((one) => (one.removal || isUnseen(one)) && !seen.has(one.machine)));
  if (entries.some(({ removal }) => removal)) await paper.write(entries);
  if (asked) await paper.strike();
  return entries;
}

/** Walks on with every removal. Returns what is left then. */
export async function continueRemovals(
  services: Services,
  paper: OrphanStatusWriter,
  grounds: readonly OrphanScope[],
  begun: readonly OrphanEntry[],
  isUnseen: IsUnobservable = () => false,
): Promise<{ entries: OrphanEntry[]; againInSeconds?: number }> {
  const entries = new Map(begun.map((entry) => [entry.machine, entry]));
  const waits: number[] = [];
  for (const entry of selectListedOrphans(begun)) {
    if (!entry.removal) continue;
    const ground = findRemovalScope(entry, grounds);
    if (!ground) {
      entries.set(entry.machine, { ...entry, message: describeBlockedRemoval(entry, isUnseen) });
      continue;
    }
    const verdict = await runRemovalSteps(services, ground, entry, async (removal) => {
      entries.set(entry.machine, { ...entry, removal: { ...removal, facts: { ...removal.facts } } });
      await paper.write([...entries.values()]);
    });
    if (verdict.kind === 'finished') {
      entries.delete(entry.machine);
      services.events.record(paper.config, 'Normal', 'OrphanRemoved', `Nothing is left of ${entry.machine}.`);
      continue;
    }
    const last = entries.get(entry.machine) ?? entry;
    const { removal, ...rest } = { ...last, message: describeStepProgress(verdict) ?? '' };
    const isOver = verdict.kind === 'failed' && verdict.reason === noLongerOrphanReason;
    entries.set(entry.machine, isOver || !removal ? rest : { ...rest, removal });
    waits.push(Math.max(minRequeueSeconds, verdict.seconds));
  }
  return { entries: [...entries.values()], ...(waits.length > 0 ? { againInSeconds: Math.min(...waits) } : {}) };
}
