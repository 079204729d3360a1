import type { OrphanEntry, OrphanSearch } from '../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { EventRecorder } from '../../kube/events.ts';

const mostNames = 10;

/** `away`: the places that could not be looked at. */
export function describeOrphans(machines: readonly string[], away: readonly string[] = []): OrphanSearch {
  if (machines.length === 0 && away.length > 0)
    return { result: 'PlatformUnreachable', message: `Not looked at: ${away.join(', ')}. Elsewhere there are none.` };
  if (machines.length === 0) return { result: 'NoneFound', message: '' };
  const names = machines.slice(0, mostNames).join(', ');
  const more = machines.length > mostNames ? ` and ${machines.length - mostNames} more` : '';
  const message = `Something is left of ${names}${more}, and there is no such Machine. status.orphans says what, and what becomes of it.`;
  return { result: 'OrphansFound', message };
}

/** Says once of each what was not listed before. */
export function tellFound(
  events: Pick<EventRecorder, 'record'>,
  config: ProviderConfig,
  entries: readonly OrphanEntry[],
): void {
  const known = new Set(config.status?.orphans?.map(({ machine }) => machine));
  for (const { machine, what } of entries) {
    if (known.has(machine)) continue;
    const message = `There is no Machine ${machine}, and its mark is on ${what}.`;
    events.record(config, 'Warning', 'OrphanFound', message);
  }
}
