import type { Machine } from '../../api/machine.ts';
import { isReady } from './machine-change.ts';

/**
 * The Machines of a cluster in the order in which a rollout changes them: control planes first, etcd's leader last among
 * them; then the worker pools in the order of the spec. Within these, Machines that are not ready come first: the change
 * may be what they need, and it interrupts nothing.
 */
export function orderMachines(
  machines: readonly Machine[],
  { pools, leader }: { readonly pools: readonly string[]; readonly leader?: string | undefined },
): Machine[] {
  const rankOfPool = ({ spec }: Machine): number => {
    if (spec.role === 'controlplane') return -1;
    const index = pools.indexOf(spec.pool);
    // A pool that the spec no longer has.
    return index < 0 ? pools.length : index;
  };
  return [...machines].sort(
    (a, b) =>
      rankOfPool(a) - rankOfPool(b) ||
      a.spec.pool.localeCompare(b.spec.pool) ||
      Number(a.metadata.name === leader) - Number(b.metadata.name === leader) ||
      Number(isReady(a)) - Number(isReady(b)) ||
      a.spec.slot - b.spec.slot,
  );
}
