import { annotations } from '../../api/names.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Services } from '../services.ts';
import type { Judged } from './remove-all.ts';
import { objectionTo } from './verdict.ts';

/**
 * The names in the annotation by which people have orphans removed, as far as that may be; undefined where there is none. What may not
 * be is told at once, name by name.
 */
export function settleAsked(
  services: Pick<Services, 'events' | 'stores'>,
  config: ProviderConfig,
  judged: readonly Judged[],
  unseen: string | undefined,
): ReadonlySet<string> | undefined {
  const text = config.metadata.annotations?.[annotations.removeOrphans];
  if (text === undefined) return undefined;
  const names = new Set(text.split(/[\s,]+/).filter((name) => name !== ''));
  const refused = [...names].flatMap((name) => {
    const against = findObjection(services, config, judged, name, unseen);
    return against === undefined ? [] : [{ name, against }];
  });
  for (const { name, against } of refused) {
    services.events.record(config, 'Warning', 'OrphanKept', `${name}: ${against}`);
    names.delete(name);
  }
  return names;
}

function findObjection(
  { stores }: Pick<Services, 'stores'>,
  { status }: ProviderConfig,
  judged: readonly Judged[],
  name: string,
  unseen: string | undefined,
): string | undefined {
  if (status?.orphans?.some(({ machine, removal }) => machine === name && removal)) return undefined;
  const one = judged.find(({ orphan }) => orphan.machine === name);
  if (one) return objectionTo(one.orphan, one.evidence) ?? unseen;
  if (unseen) return unseen;
  if (stores.machines.get({ name }))
    return 'There is a Machine of this name. What is outside goes when that is deleted.';
  return 'Nothing is kept for this ProviderConfig that carries its mark.';
}
