import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp.ts';
import type { OrphanEntry, OrphanSearch } from '../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { ProviderError } from '../../lib/errors.ts';
import { settleAsked } from '../orphans/asked.ts';
import { describeOrphans, tellFound } from '../orphans/describe.ts';
import { gatherEvidence } from '../orphans/evidence.ts';
import { type Found, findAll, type Ground } from '../orphans/find.ts';
import { recognize, shorten } from '../orphans/list.ts';
import { Paper } from '../orphans/paper.ts';
import { begin, carryOn, type Judged } from '../orphans/remove-all.ts';
import type { Rounds } from '../orphans/rounds.ts';
import { judge, objectionTo, whatIsUnseen, whatStandsAgainst } from '../orphans/verdict.ts';
import type { Services } from '../services.ts';

type Listed = Pick<NonNullable<ProviderConfig['status']>, 'orphans' | 'orphanCount'>;

/** What was found out about orphans, as the status is to tell it. */
export interface OrphanReport {
  readonly listed: Listed;
  readonly search: OrphanSearch;
  /** All that can be looked at was. */
  readonly isDone: boolean;
  /** As it is after what was written meanwhile. */
  readonly config: ProviderConfig;
  /** When to look again, if that is soon. */
  readonly againInSeconds?: number | undefined;
}

/**
 * Undefined: it was no time to look. Nothing is concluded from caches that are not complete. `away` are the names of the places that
 * cannot be looked at: what is known of them stays as it is, and no removal begins meanwhile.
 */
export async function lookForOrphans(
  services: Services,
  rounds: Rounds,
  config: ProviderConfig,
  grounds: readonly Ground[],
  away: readonly string[] = [],
): Promise<OrphanReport | undefined> {
  const [ground] = grounds;
  if (!ground || !services.stores.machines.isSynced) return undefined;
  if (!rounds.isDue(config) && !isAtWork(config)) return undefined;
  const { signal } = ground.check;
  const paper = new Paper(services, config, signal);
  try {
    return await settle(services, paper, grounds, away);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const result = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
    const search = { result, message: error.message } as const;
    return { listed: listed(paper.config), search, isDone: false, config: paper.config };
  }
}

/** Somebody has asked for a removal, or one has begun. */
const isAtWork = ({ metadata, status }: ProviderConfig): boolean =>
  metadata.annotations?.[annotations.removeOrphans] !== undefined ||
  (status?.orphans?.some(({ removal }) => removal) ?? false);

async function settle(
  services: Services,
  paper: Paper,
  grounds: readonly Ground[],
  named: readonly string[],
): Promise<OrphanReport> {
  const { config } = paper;
  const looked = await findAll(services, config.metadata.name, grounds);
  const [failed] = looked.away;
  if (failed && looked.away.length === grounds.length) throw failed.error;
  const away = [...named, ...looked.away.map(({ ground }) => ground.check.site ?? '')];
  const unseen = whatIsUnseen(away);
  const judged = await judgeAll(services, config, looked.found, unseen);
  tellFound(
    services.events,
    config,
    judged.map(({ entry }) => entry),
  );
  const asked = settleAsked(services, config, judged, unseen);
  // Of those that were listed before places were noted, nobody knows where they are.
  const isUnseen = ({ site, removal }: OrphanEntry): boolean =>
    away.length > 0 && (placeOf({ site, removal }) === undefined || away.includes(placeOf({ site, removal }) ?? ''));
  const begun = await begin(services, paper, judged, asked, isUnseen);
  const there = grounds.filter(({ check }) => !away.includes(check.site ?? ''));
  const { entries, againInSeconds } = await carryOn(services, paper, there, begun, isUnseen);
  const search = describeOrphans(
    entries.map(({ machine }) => machine),
    away,
  );
  const found = entries.length > 0 ? { orphans: shorten(entries), orphanCount: entries.length } : {};
  return { listed: found, search, isDone: looked.away.length === 0, config: paper.config, againInSeconds };
}

/** Each with what becomes of it if nobody asks for anything. */
async function judgeAll(
  services: Services,
  config: ProviderConfig,
  found: readonly Found[],
  unseen: string | undefined,
): Promise<Judged[]> {
  const [first] = found;
  if (!first) return [];
  const { signal } = first.ground.check;
  const known = config.status?.orphans ?? [];
  const now = services.clock.now();
  const { items: clusters } = await services.kube.list(Cluster, {}, signal);
  const judged: Judged[] = [];
  for (const { orphan, ground } of found) {
    const evidence = await gatherEvidence(services, clusters, orphan.machine, signal);
    const proof = whatStandsAgainst(orphan, evidence);
    const against = objectionTo(orphan, evidence) ?? unseen ?? proof;
    const { site } = ground.check;
    const sighting = recognize({ ...orphan, site }, against === undefined, known, now);
    const { isRemoved, message } =
      against === undefined ? judge(sighting.restingSince, now) : { isRemoved: false, message: against };
    const goesOn = unseen !== undefined && proof === undefined;
    judged.push({ orphan, ground, evidence, isRemoved, goesOn, entry: { ...sighting, message } });
  }
  return judged;
}

const placeOf = ({ site, removal }: Pick<OrphanEntry, 'site' | 'removal'>): string | undefined =>
  site ?? (typeof removal?.facts['site'] === 'string' ? removal.facts['site'] : undefined);

/** What the status says already. */
export const listed = ({ status }: ProviderConfig): Listed => ({
  ...(status?.orphans ? { orphans: status.orphans } : {}),
  ...(status?.orphanCount === undefined ? {} : { orphanCount: status.orphanCount }),
});
