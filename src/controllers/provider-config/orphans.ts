import { type ConditionState, unknown } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp.ts';
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
import { judge, whatStandsAgainst } from '../orphans/verdict.ts';
import type { Services } from '../services.ts';

type Listed = Pick<NonNullable<ProviderConfig['status']>, 'orphans' | 'orphanCount'>;

/** What was found out about orphans, as the status is to tell it. */
export interface OrphanReport {
  readonly listed: Listed;
  readonly state: ConditionState;
  /** As it is after what was written meanwhile. */
  readonly config: ProviderConfig;
  /** When to look again, if that is soon. */
  readonly againInSeconds?: number | undefined;
}

/** Undefined: it was no time to look. Nothing is concluded from caches that are not complete. */
export async function lookForOrphans(
  services: Services,
  rounds: Rounds,
  config: ProviderConfig,
  grounds: readonly Ground[],
): Promise<OrphanReport | undefined> {
  const [ground] = grounds;
  if (!ground || !services.stores.machines.isSynced) return undefined;
  if (!rounds.isDue(config) && !isAtWork(config)) return undefined;
  const { signal } = ground.check;
  const paper = new Paper(services, config, signal);
  try {
    return await settle(services, paper, grounds, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const reason = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
    const state = unknown('NoOrphans', reason, error.message);
    return { listed: listed(paper.config), state, config: paper.config };
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
  signal: AbortSignal,
): Promise<OrphanReport> {
  const { config } = paper;
  const judged = await judgeAll(services, config, await findAll(services, grounds), signal);
  tellFound(
    services.events,
    config,
    judged.map(({ entry }) => entry),
  );
  const asked = settleAsked(services, config, judged);
  const begun = await begin(services, paper, judged, asked);
  const { entries, againInSeconds } = await carryOn(services, paper, grounds, begun);
  const state = describeOrphans(entries.map(({ machine }) => machine));
  const found = entries.length > 0 ? { orphans: shorten(entries), orphanCount: entries.length } : {};
  return { listed: found, state, config: paper.config, againInSeconds };
}

/** Each with what becomes of it if nobody asks for anything. */
async function judgeAll(
  services: Services,
  config: ProviderConfig,
  found: readonly Found[],
  signal: AbortSignal,
): Promise<Judged[]> {
  if (found.length === 0) return [];
  const known = config.status?.orphans ?? [];
  const now = services.clock.now();
  const { items: clusters } = await services.kube.list(Cluster, {}, signal);
  const judged: Judged[] = [];
  for (const { orphan, ground } of found) {
    const evidence = await gatherEvidence(services, clusters, orphan.machine, signal);
    const against = whatStandsAgainst(orphan, evidence);
    const sighting = recognize(orphan, against === undefined, known, now);
    const { isRemoved, message } =
      against === undefined ? judge(sighting.restingSince, now) : { isRemoved: false, message: against };
    judged.push({ orphan, ground, evidence, isRemoved, entry: { ...sighting, message } });
  }
  return judged;
}

/** What the status says already. */
export const listed = ({ status }: ProviderConfig): Listed => ({
  ...(status?.orphans ? { orphans: status.orphans } : {}),
  ...(status?.orphanCount === undefined ? {} : { orphanCount: status.orphanCount }),
});
