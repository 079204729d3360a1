import type { ConditionState } from '../../api/conditions.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';

/**
 * Records an Event and a log line when a Machine becomes Ready, stops being Ready or becomes Ready again. `before`: its
 * previous phase.
 */
export function recordPhaseChange(
  { events }: Pick<Services, 'events'>,
  machine: Machine,
  before: string | undefined,
  { phase, message }: Pick<MachineStatus, 'phase' | 'message'>,
  log: Log,
): void {
  if (phase === 'Ready' && before === 'Degraded') {
    events.record(machine, 'Normal', 'Recovered', 'The node is a healthy member of its cluster again.');
    log.info({}, 'the machine is ready again');
  } else if (phase === 'Ready') {
    events.record(machine, 'Normal', 'Joined', 'The node is a healthy member of its cluster.');
    log.info({}, 'the machine is ready');
  } else if (before === 'Ready' && phase === 'Degraded') {
    events.record(machine, 'Warning', 'Degraded', message ?? '');
    log.warn({ why: message }, 'the machine is not ready any more');
  }
}

const describePending = ({ status }: Machine): string => {
  const fields = status?.pending?.fields.slice(0, 10) ?? [];
  return fields.length === 0 ? '' : ` (${fields.join(', ')})`;
};

/** Records that a change of the running node begins. */
export function recordUpdateStart({ events }: Pick<Services, 'events'>, machine: Machine, log: Log): void {
  const { class: needs, fields } = machine.status?.pending ?? {};
  // A live change is over within seconds, and its end is an Event.
  if (needs !== 'live')
    events.record(machine, 'Normal', 'UpdateStarted', `The node is changed${describePending(machine)}.`);
  log.info({ class: needs, fields }, 'update begins');
}

/** Records that the running node is what it is to be. */
export function recordUpdate({ events }: Pick<Services, 'events'>, machine: Machine, log: Log): void {
  events.record(machine, 'Normal', 'Updated', `The running node has its desired state${describePending(machine)}.`);
  log.info({ fields: machine.status?.pending?.fields }, 'update finished');
}

/** Records that an update does not go on by itself. */
export function recordUpdateFailure(
  { events }: Pick<Services, 'events'>,
  machine: Machine,
  { reason, message }: Pick<ConditionState, 'reason' | 'message'>,
  log: Log,
): void {
  events.record(machine, 'Warning', reason, message ?? '');
  log.warn({ reason, why: message }, 'update failed');
}

/** Records the drift that is repaired automatically. Approved repairs are recorded when they are finished. */
export function recordRepairs(
  { events }: Pick<Services, 'events'>,
  machine: Machine,
  drift: readonly Drift[],
  log: Log,
): void {
  for (const { reason, message, isMinor, repair } of drift) {
    if (isMinor || repair?.mode !== 'automatic') continue;
    events.record(machine, 'Warning', reason, message);
    log.warn({ reason, why: message }, 'drift is being repaired');
  }
}
