import type { PlannedUpdate } from '../../controllers/plan/plan-updates.ts';
import { formatEffect } from './describe-plan.ts';

/** The changes of running machines as text for a terminal, by cluster; undefined without any. */
export function describeUpdates(updates: readonly PlannedUpdate[]): string | undefined {
  if (updates.length === 0) return undefined;
  const clusters = [...new Set(updates.map(({ cluster }) => cluster))];
  const parts = clusters.map((name) => {
    const own = updates.filter(({ cluster }) => cluster === name);
    const lines = own.map(({ effect, machine, subject }) => formatEffect(effect, `${machine}: ${subject}`));
    return [`Changes of running machines of ${name}, in this order:`, ...lines].join('\n');
  });
  const restarts = updates.filter(({ effect }) => effect === 'restarts').length;
  const end = `${updates.length} ${updates.length === 1 ? 'change' : 'changes'}, ${restarts} with a restart of the node.`;
  return [...parts, end].join('\n\n');
}
