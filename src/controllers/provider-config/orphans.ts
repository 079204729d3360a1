import { type ConditionState, unknown } from '../../api/conditions.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { ProviderError } from '../../lib/errors.ts';
import { describeOrphans } from '../orphans/describe.ts';
import { findOrphans, type Ground } from '../orphans/find.ts';
import { recognize, shorten, together } from '../orphans/list.ts';
import type { Rounds } from '../orphans/rounds.ts';
import type { Services } from '../services.ts';

type Listed = Pick<NonNullable<ProviderConfig['status']>, 'orphans' | 'orphanCount'>;

/** What was found out about orphans, as the status is to tell it. */
export interface OrphanReport extends Listed {
  readonly state: ConditionState;
}

/** Undefined: it was no time to look. Nothing is concluded from caches that are not complete. */
export async function lookForOrphans(
  services: Services,
  rounds: Rounds,
  config: ProviderConfig,
  grounds: readonly Ground[],
): Promise<OrphanReport | undefined> {
  if (grounds.length === 0 || !services.stores.machines.isSynced || !rounds.isDue(config)) return undefined;
  try {
    return await listOrphans(services, config, grounds);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const reason = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
    return { ...listed(config), state: unknown('NoOrphans', reason, error.message) };
  }
}

async function listOrphans(
  services: Services,
  config: ProviderConfig,
  grounds: readonly Ground[],
): Promise<OrphanReport> {
  const found = together((await Promise.all(grounds.map((ground) => findOrphans(services, ground)))).flat());
  const now = services.clock.now();
  const entries = found.map((orphan) => ({
    ...recognize(orphan, config.status?.orphans ?? [], now),
    message: orphan.doubt ?? 'Nothing removes it by itself.',
  }));
  const state = describeOrphans(entries.map(({ machine }) => machine));
  return { ...(entries.length > 0 ? { orphans: shorten(entries), orphanCount: entries.length } : {}), state };
}

/** What the status says already. */
export const listed = ({ status }: ProviderConfig): Listed => ({
  ...(status?.orphans ? { orphans: status.orphans } : {}),
  ...(status?.orphanCount === undefined ? {} : { orphanCount: status.orphanCount }),
});
