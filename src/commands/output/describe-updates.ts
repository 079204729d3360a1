import type { PlannedUpdate } from '../../controllers/plan/plan-updates.ts';
import { formatEffect } from './describe-plan.ts';

/** As many as the message of a condition names. */
const maxFields = 5;

/** `talos.version 1.13.9 to 1.14.0, machine.env (drained, upgraded and restarted)` */
export function describeUpdate({ fields, note }: PlannedUpdate, max = Number.POSITIVE_INFINITY): string {
  if (fields.length === 0) return note;
  // The status of a Machine does not have all of them either, so their number is not known.
  const more = fields.length > max ? ' and others' : '';
  return `${fields.slice(0, max).join(', ')}${more} (${note})`;
}

/** The changes of running machines as text for a terminal, by cluster; undefined without any. */
export function describeUpdates(updates: readonly PlannedUpdate[]): string | undefined {
  if (updates.length === 0) return undefined;
  const clusters = [...new Set(updates.map(({ cluster }) => cluster))];
  const parts = clusters.map((name) => {
    const own = updates.filter(({ cluster }) => cluster === name);
    const lines = own.map((update) =>
      formatEffect(update.effect, `${update.machine}: ${describeUpdate(update, maxFields)}`),
    );
    return [`Changes of running machines of ${name}, in this order:`, ...lines].join('\n');
  });
  const restarts = updates.filter(({ effect }) => effect === 'restarts').length;
  const end = `${updates.length} ${updates.length === 1 ? 'change' : 'changes'}, ${restarts} with a restart of the node.`;
  return [...parts, end].join('\n\n');
}
