import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { OrphanEntry, OrphanSearch } from '../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Services } from '../shared/services.ts';
import {
  decideRemoval,
  describeUnavailableObjection,
  findAutomaticRemovalObjection,
  findRemovalObjection,
} from './decide-removal.ts';
import { describeOrphans, reportNewOrphans } from './describe-orphans.ts';
import { gatherMachineEvidence } from './machine-evidence.ts';
import { selectListedOrphans, updateObservation } from './orphan-entries.ts';
import { type AssessedOrphan, beginRemovals, continueRemovals } from './orphan-removals.ts';
import type { OrphanScanSchedule } from './orphan-scan-schedule.ts';
import { OrphanStatusWriter } from './orphan-status-writer.ts';
import { resolveRequestedRemovals } from './requested-removals.ts';
import { type FoundOrphan, type OrphanScope, scanOrphans } from './scan-orphans.ts';

type ListedOrphans = Pick<NonNullable<ProviderConfig['status']>, 'orphans' | 'orphanCount'>;

/** The result of a scan for the status. */
export interface OrphanReport {
  readonly listed: ListedOrphans;
  readonly search: OrphanSearch;
  /** All failure domains could be scanned. */
  readonly isDone: boolean;
  /** The ProviderConfig after the writes of this scan. */
  readonly config: ProviderConfig;
  /** Seconds until the next scan, if a removal is in progress. */
  readonly againInSeconds?: number | undefined;
}

/**
 * Scans for orphans and runs their removals. Undefined: no scan is due, or the cache is incomplete, from which nothing
 * may be concluded. `away`: failure domains that cannot be scanned. Their entries stay unchanged, and no removal begins
 * while one is missing.
 */
export async function collectOrphans(
  services: Services,
  rounds: OrphanScanSchedule,
  config: ProviderConfig,
  grounds: readonly OrphanScope[],
  away: readonly string[] = [],
): Promise<OrphanReport | undefined> {
  const [ground] = grounds;
  if (!ground || !services.stores.machines.isSynced) return undefined;
  if (!rounds.isDue(config) && !hasRemovalInHand(config)) return undefined;
  const { signal } = ground.check;
  const paper = new OrphanStatusWriter(services, config, signal);
  try {
    return await scanAndRemove(services, paper, grounds, away);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const result = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
    const search = { result, message: error.message } as const;
    return { listed: listedOrphansOf(paper.config), search, isDone: false, config: paper.config };
  }
}

/** A removal is requested or in progress. */
const hasRemovalInHand = ({ metadata, status }: ProviderConfig): boolean =>
  metadata.annotations?.[annotations.removeOrphans] !== undefined ||
  (status?.orphans?.some(({ removal }) => removal) ?? false);

async function scanAndRemove(
  services: Services,
  paper: OrphanStatusWriter,
  grounds: readonly OrphanScope[],
  named: readonly string[],
): Promise<OrphanReport> {
  const { config } = paper;
  const looked = await scanOrphans(services, config.metadata.name, grounds);
  const [failed] = looked.away;
  if (failed && looked.away.length === grounds.length) throw failed.error;
  const away = [...named, ...looked.away.map(({ ground }) => ground.check.site ?? '')];
  const unseen = describeUnavailableObjection(away);
  const judged = await assessOrphans(services, config, looked.found, unseen);
  reportNewOrphans(
    services.events,
    config,
    judged.map(({ entry }) => entry),
  );
  const asked = resolveRequestedRemovals(services, config, judged, unseen);
  // Entries from before the failure domain was recorded may be in any failure domain.
  const isUnseen = ({ site, removal }: OrphanEntry): boolean =>
    away.length > 0 &&
    (failureDomainOfEntry({ site, removal }) === undefined ||
      away.includes(failureDomainOfEntry({ site, removal }) ?? ''));
  const begun = await beginRemovals(services, paper, judged, asked, isUnseen);
  const there = grounds.filter(({ check }) => !away.includes(check.site ?? ''));
  const { entries, againInSeconds } = await continueRemovals(services, paper, there, begun, isUnseen);
  const search = describeOrphans(
    entries.map(({ machine }) => machine),
    away,
  );
  const found = entries.length > 0 ? { orphans: selectListedOrphans(entries), orphanCount: entries.length } : {};
  return { listed: found, search, isDone: looked.away.length === 0, config: paper.config, againInSeconds };
}

/** Each orphan with its evidence and the decision about its automatic removal. */
async function assessOrphans(
  services: Services,
  config: ProviderConfig,
  found: readonly FoundOrphan[],
  unseen: string | undefined,
): Promise<AssessedOrphan[]> {
  const [first] = found;
  if (!first) return [];
  const { signal } = first.ground.check;
  const known = config.status?.orphans ?? [];
  const now = services.clock.now();
  const { items: clusters } = await services.kube.list(Cluster, {}, signal);
  const judged: AssessedOrphan[] = [];
  for (const { orphan, ground } of found) {
    const evidence = await gatherMachineEvidence(services, clusters, orphan.machine, signal);
    const proof = findAutomaticRemovalObjection(orphan, evidence);
    const against = findRemovalObjection(orphan, evidence) ?? unseen ?? proof;
    const { site } = ground.check;
    const sighting = updateObservation({ ...orphan, site }, against === undefined, known, now);
    const { isRemoved, message } =
      against === undefined ? decideRemoval(sighting.restingSince, now) : { isRemoved: false, message: against };
    const goesOn = unseen !== undefined && proof === undefined;
    judged.push({ orphan, ground, evidence, isRemoved, goesOn, entry: { ...sighting, message } });
  }
  return judged;
}

const failureDomainOfEntry = ({ site, removal }: Pick<OrphanEntry, 'site' | 'removal'>): string | undefined =>
  site ?? (typeof removal?.facts['site'] === 'string' ? removal.facts['site'] : undefined);

/** The orphans that are already listed in the status. */
export const listedOrphansOf = ({ status }: ProviderConfig): ListedOrphans => ({
  ...(status?.orphans ? { orphans: status.orphans } : {}),
  ...(status?.orphanCount === undefined ? {} : { orphanCount: status.orphanCount }),
});
