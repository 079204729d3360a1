import type { OrphanEntry, OrphanSearch } from '../../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { EventRecorder } from '../../../kube/event-recorder.ts';

const maxNames = 10;

/** `away`: failure domains that could not be scanned. */
export function describeOrphans(machines: readonly string[], away: readonly string[] = []): OrphanSearch {
  if (machines.length === 0 && away.length > 0)
    return { result: 'PlatformUnreachable', message: `Not looked at: ${away.join(', ')}. Elsewhere there are none.` };
  if (machines.length === 0) return { result: 'NoneFound', message: '' };
  const names = machines.slice(0, maxNames).join(', ');
  const more = machines.length > maxNames ? ` and ${machines.length - maxNames} more` : '';
  const message = `Something is left of ${names}${more}, and there is no such Machine. status.orphans lists the resources, and says what becomes of them.`;
  return { result: 'OrphansFound', message };
}

/** Records an Event for each orphan that is not in the status yet. */
export function reportNewOrphans(
  events: Pick<EventRecorder, 'record'>,
  config: ProviderConfig,
  entries: readonly OrphanEntry[],
): void {
  const known = new Set(config.status?.orphans?.map(({ machine }) => machine));
  for (const { machine, resources } of entries) {
    if (known.has(machine)) continue;
    const message = `There is no Machine ${machine}, and its mark is on ${resources}.`;
    events.record(config, 'Warning', 'OrphanFound', message);
  }
}
