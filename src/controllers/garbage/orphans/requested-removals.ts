import { annotations } from '../../../api/names.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { Services } from '../../shared/services.ts';
import { findRemovalObjection } from './decide-removal.ts';
import type { AssessedOrphan } from './orphan-removals.ts';

/**
 * The orphans that the annotation names and that may be removed; undefined without the annotation. Each rejected name
 * is recorded as an Event.
 */
export function resolveRequestedRemovals(
  services: Pick<Services, 'events' | 'stores'>,
  config: ProviderConfig,
  assessed: readonly AssessedOrphan[],
  unseen: string | undefined,
): ReadonlySet<string> | undefined {
  const text = config.metadata.annotations?.[annotations.removeOrphans];
  if (text === undefined) return undefined;
  const names = new Set(text.split(/[\s,]+/).filter((name) => name !== ''));
  const refused = [...names].flatMap((name) => {
    const against = findRequestObjection(services, config, assessed, name, unseen);
    return against === undefined ? [] : [{ name, against }];
  });
  for (const { name, against } of refused) {
    services.events.record(config, 'Warning', 'OrphanKept', `${name}: ${against}`);
    names.delete(name);
  }
  return names;
}

function findRequestObjection(
  { stores }: Pick<Services, 'stores'>,
  { status }: ProviderConfig,
  assessed: readonly AssessedOrphan[],
  name: string,
  unseen: string | undefined,
): string | undefined {
  if (status?.orphans?.some(({ machine, removal }) => machine === name && removal)) return undefined;
  const one = assessed.find(({ orphan }) => orphan.machine === name);
  if (one) return findRemovalObjection(one.orphan, one.evidence) ?? unseen;
  if (unseen) return unseen;
  if (stores.machines.get({ name }))
    return 'A Machine with this name exists. Its resources are removed when it is deleted.';
  return 'This ProviderConfig has no resources with its mark.';
}
