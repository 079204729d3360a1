import type { OrphanEntry } from '../../../api/orphan-entry.ts';
import { describeStepProgress } from '../../shared/describe-step-progress.ts';
import type { Services } from '../../shared/services.ts';
import type { MachineEvidence } from '../machine-evidence.ts';
import { findRemovalObjection } from './decide-removal.ts';
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

/** An orphan with its evidence and assessment. */
export interface AssessedOrphan extends FoundOrphan {
  readonly evidence: MachineEvidence;
  /** It is removed automatically. */
  readonly isRemoved: boolean;
  /** A removal in progress continues while a failure domain is unreachable: all were scanned before it began. */
  readonly isInProgress: boolean;
  readonly entry: OrphanEntry;
}

const unreachableMessage = 'The system with the resources is unreachable. The removal continues when it is reachable.';
const unknownFailureDomainMessage =
  'The failure domain of the resources is no longer in the ProviderConfig. Restore it until the resources are removed.';

/** Whether an entry is in a failure domain that cannot be scanned now. */
type IsUnobservable = (entry: OrphanEntry) => boolean;

const describeBlockedRemoval = (entry: OrphanEntry, isUnseen: IsUnobservable): string =>
  isUnseen(entry) ? unreachableMessage : unknownFailureDomainMessage;

/** Each step reconciles the whole ProviderConfig, so this limits the rate. */
const minRequeueSeconds = 5;

/**
 * Records which removals continue and which begin before the first step of any, so that they continue after a restart.
 * The annotation is removed after that: its removals have begun or were rejected.
 */
export async function beginRemovals(
  services: Services,
  writer: OrphanStatusWriter,
  assessed: readonly AssessedOrphan[],
  requested: ReadonlySet<string> | undefined,
  isUnseen: IsUnobservable = () => false,
): Promise<OrphanEntry[]> {
  const { config } = writer;
  const now = services.clock.now();
  const known = config.status?.orphans ?? [];
  const entries = assessed.map((one) => {
    const { entry, orphan, evidence, isRemoved, isInProgress } = one;
    const before = known.find(({ machine, removal }) => machine === entry.machine && removal);
    const isDecided = before && isRequestedRemoval(before) && findRemovalObjection(orphan, evidence) === undefined;
    // An automatic removal ends with its proof, for example because the machine was started again.
    if (before?.removal && (isDecided || isRemoved || isInProgress)) return { ...entry, removal: before.removal };
    const isRequested = requested?.has(entry.machine) ?? false;
    if (!isRequested && !isRemoved) return entry;
    const why = isRequested ? 'A user requested it.' : entry.message;
    services.events.record(config, 'Normal', 'OrphanRemoval', `${entry.resources}: the removal begins. ${why}`);
    return { ...entry, message: why, removal: createRemovalRecord(one, isRequested, now) };
  });
  // The resources of these entries are gone or their failure domain is unreachable, but addresses may remain.
  const seen = new Set(entries.map(({ machine }) => machine));
  entries.push(...known.filter((one) => (one.removal || isUnseen(one)) && !seen.has(one.machine)));
  if (entries.some(({ removal }) => removal)) await writer.write(entries);
  if (requested) await writer.remove();
  return entries;
}

/** Continues all removals. Returns the remaining entries. */
export async function continueRemovals(
  services: Services,
  writer: OrphanStatusWriter,
  scopes: readonly OrphanScope[],
  started: readonly OrphanEntry[],
  isUnseen: IsUnobservable = () => false,
): Promise<{ entries: OrphanEntry[]; requeueAfterSeconds?: number }> {
  const entries = new Map(started.map((entry) => [entry.machine, entry]));
  const waits: number[] = [];
  for (const entry of selectListedOrphans(started)) {
    if (!entry.removal) continue;
    const scope = findRemovalScope(entry, scopes);
    if (!scope) {
      entries.set(entry.machine, { ...entry, message: describeBlockedRemoval(entry, isUnseen) });
      continue;
    }
    const verdict = await runRemovalSteps(services, scope, entry, async (removal) => {
      entries.set(entry.machine, { ...entry, removal: { ...removal, facts: { ...removal.facts } } });
      await writer.write([...entries.values()]);
    });
    if (verdict.kind === 'finished') {
      entries.delete(entry.machine);
      services.events.record(
        writer.config,
        'Normal',
        'OrphanRemoved',
        `All resources of ${entry.machine} are removed.`,
      );
      continue;
    }
    const last = entries.get(entry.machine) ?? entry;
    const { removal, ...rest } = { ...last, message: describeStepProgress(verdict) ?? '' };
    const isOver = verdict.kind === 'failed' && verdict.reason === noLongerOrphanReason;
    entries.set(entry.machine, isOver || !removal ? rest : { ...rest, removal });
    waits.push(Math.max(minRequeueSeconds, verdict.seconds));
  }
  return { entries: [...entries.values()], ...(waits.length > 0 ? { requeueAfterSeconds: Math.min(...waits) } : {}) };
}
