import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import { isReplacing } from '../../rollout/machine-change.ts';

interface SurplusOptions {
  /** The control plane that leads etcd: another one is preferred. */
  readonly leader?: string | undefined;
  /** The control plane whose address is the endpoint of the cluster: it is never chosen. */
  readonly endpointMachine?: string | undefined;
  /** Machines that `spec.machinesToDelete` of the NodePool names. */
  readonly toDelete?: readonly Machine[];
}

/**
 * The Machine of a pool that is deleted next, if the pool has more than it needs. `machines`: those of the pool that are
 * not in deletion. In this order: one that the NodePool names, one that is replaced, one that a user has marked, one that is
 * not ready, one of the failure domain with the most, not the leader of etcd, the highest slot.
 */
export function chooseSurplusMachine(
  machines: readonly Machine[],
  { leader, endpointMachine, toDelete = [] }: SurplusOptions = {},
): Machine | undefined {
  const inDomain = new Map<string | undefined, number>();
  for (const { spec } of machines) inDomain.set(spec.failureDomain, (inDomain.get(spec.failureDomain) ?? 0) + 1);
  const rank = (machine: Machine): readonly number[] => [
    toDelete.includes(machine) ? 1 : 0,
    isReplacing(machine) ? 1 : 0,
    machine.metadata.annotations?.[annotations.deleteFirst] === 'true' ? 1 : 0,
    isConditionTrue(machine.status?.conditions, 'Ready') ? 0 : 1,
    inDomain.get(machine.spec.failureDomain) ?? 0,
    machine.metadata.name === leader ? 0 : 1,
    machine.spec.slot,
  ];
  const [first] = machines
    .filter(({ metadata }) => metadata.name !== endpointMachine)
    .map((machine) => ({ machine, rank: rank(machine) }))
    .sort((a, b) => compareRanks(b.rank, a.rank));
  return first?.machine;
}

/** The Machines of a pool that are deleted one after the other, if nothing else changes. */
export function listSurplusMachines(
  machines: readonly Machine[],
  count: number,
  options: SurplusOptions = {},
): readonly Machine[] {
  if (count <= 0) return [];
  const next = chooseSurplusMachine(machines, options);
  if (!next) return [];
  const rest = machines.filter((machine) => machine !== next);
  return [next, ...listSurplusMachines(rest, count - 1, options)];
}

/** The first difference decides. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
