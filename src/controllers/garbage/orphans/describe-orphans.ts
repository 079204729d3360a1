import type { OrphanEntry, OrphanSearch } from '../../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { EventRecorder } from '../../../kube/event-recorder.ts';

const maxNames = 10;

/** `away`: failure domains that could not be scanned. */
export function describeOrphans(machines: readonly string[], away: readonly string[] = []): OrphanSearch {
  if (machines.length === 0 && away.length > 0)
    return { result: 'PlatformUnreachable', message: `No orphans found. Not searched: ${away.join(', ')}.` };
  if (machines.length === 0) return { result: 'NoneFound', message: '' };
  const names = machines.slice(0, maxNames).join(', ');
  const more = machines.length > maxNames ? ` and ${machines.length - maxNames} more` : '';
  const message = `Resources of non-existent Machines found: ${names}${more}. See status.orphans.`;
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
    const message = `Machine ${machine} does not exist, but its mark is on ${resources}.`;
    events.record(config, 'Warning', 'OrphanFound', message);
  }
}
