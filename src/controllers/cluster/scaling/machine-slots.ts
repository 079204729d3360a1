import type { Machine } from '../../../api/machine.ts';
import { controlPlanePool, machineName } from '../../../api/names.ts';
import type { NodePool } from '../../../api/node-pool.ts';
import type { NamespacedRef } from '../../../api/openmcp/types.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { isReplacing } from '../../rollout/machine-change.ts';
import { listSurplusMachines } from './choose-surplus-machine.ts';
import { decideReplicas } from './pool-replicas.ts';

/** A Machine that a cluster needs. */
export interface MachineSlot {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly pool: string;
  readonly slot: number;
  readonly size: string;
  /** The chosen failure domain, if the platform has several. */
  readonly failureDomain?: string | undefined;
}

/** What the slots of a cluster follow from. */
export interface SlotInput {
  readonly ref: NamespacedRef;
  /** The spec of the cluster; undefined if it is not known. */
  readonly spec: ProviderConfigSpec | undefined;
  readonly secrets: { readonly nodePrefix: string | undefined } | undefined;
  readonly machines: readonly Machine[];
  readonly nodePools: readonly NodePool[];
  /** The control plane whose address is the endpoint of the cluster. */
  readonly endpointMachine?: string | undefined;
}

/** The Machines of a pool, compared with the number that it is to have. */
export interface PoolBalance {
  readonly role: MachineSlot['role'];
  readonly pool: string;
  readonly replicas: number;
  /** Not in deletion. */
  readonly present: readonly Machine[];
  /** In deletion. Each holds its slot until it is gone. */
  readonly leaving: readonly Machine[];
  /** The Machines to delete, in order, including those being replaced and those in `machinesToDelete` of the NodePool. */
  readonly surplus: readonly Machine[];
  /** The present Machines that the NodePool names to be deleted. */
  readonly toDelete: readonly Machine[];
  /** Machines that can be created now. */
  readonly missing: readonly MachineSlot[];
}

/**
 * All pools: control planes, the worker pools of the spec, and pools that only have Machines. None without a spec.
 *
 * A Machine keeps its slot as long as it exists, so that none is deleted only for its number: a pool whose slot 1 was
 * deleted has the slots 0 and 2. A new Machine gets the lowest free slot.
 */
export function comparePools(input: SlotInput): PoolBalance[] {
  const { spec, machines } = input;
  if (!spec) return [];
  const { controlPlane, workerPools } = spec;
  const known = new Set([controlPlanePool, ...workerPools.map(({ name }) => name)]);
  const removed = [...new Set(machines.map((machine) => machine.spec.pool))].filter((pool) => !known.has(pool));
  return [
    comparePool(
      input,
      { role: 'controlplane', pool: controlPlanePool, size: controlPlane.size },
      controlPlane.replicas,
    ),
    ...workerPools.map((pool) => {
      const nodePool = input.nodePools.find((one) => one.spec.pool === pool.name);
      const present = machines.filter((one) => one.spec.pool === pool.name && !one.metadata.deletionTimestamp).length;
      const replicas = decideReplicas(pool, nodePool, present);
      return comparePool(input, { role: 'worker', pool: pool.name, size: pool.size }, replicas);
    }),
    ...removed.map((pool) => comparePool(input, { role: 'worker', pool, size: '' }, 0)),
  ];
}

type PoolShape = Pick<MachineSlot, 'role' | 'pool' | 'size'>;

function comparePool(input: SlotInput, shape: PoolShape, replicas: number): PoolBalance {
  const { machines, nodePools, endpointMachine } = input;
  const ofPool = machines.filter(({ spec }) => spec.pool === shape.pool);
  const present = ofPool.filter(({ metadata }) => !metadata.deletionTimestamp);
  const leaving = ofPool.filter(({ metadata }) => metadata.deletionTimestamp);
  const used = ofPool.map(({ spec }) => spec.slot);
  const named = nodePools.find(({ spec }) => spec.pool === shape.pool)?.spec.machinesToDelete ?? [];
  const toDelete = present.filter(({ metadata }) => named.some(({ uid }) => uid === metadata.uid));
  // One that is deleted anyway needs no successor of its own.
  const replaced = present.filter((one) => isReplacing(one) && !toDelete.includes(one)).length;
  // A worker has its successor before it goes; of the control planes there is never one more than the spec says.
  const early = shape.role === 'worker' ? replaced : 0;
  const missing = lowestFreeSlots(used, replicas + early - ofPool.length).map((slot) =>
    toMachineSlot(input, shape, slot),
  );
  const count = Math.max(present.length - replicas, replaced + toDelete.length);
  const surplus = listSurplusMachines(present, count, { endpointMachine, toDelete });
  return { role: shape.role, pool: shape.pool, replicas, present, leaving, surplus, toDelete, missing };
}

const toMachineSlot = (
  { ref, secrets }: Pick<SlotInput, 'ref' | 'secrets'>,
  shape: PoolShape,
  slot: number,
): MachineSlot => ({ name: machineName(ref, shape.pool, slot, secrets?.nodePrefix), ...shape, slot });

function lowestFreeSlots(used: readonly number[], count: number): number[] {
  const free: number[] = [];
  for (let slot = 0; free.length < count; slot += 1) if (!used.includes(slot)) free.push(slot);
  return free;
}

/** The Machines that a cluster has when all its changes are done; none without a spec. */
export function listDesiredSlots(input: SlotInput): MachineSlot[] {
  const sizes = new Map(input.spec?.workerPools.map(({ name, size }) => [name, size]));
  return comparePools(input).flatMap(({ role, pool, replicas, present, surplus }) => {
    const kept = present.filter((machine) => !surplus.includes(machine)).map(({ spec }) => spec.slot);
    const slots = [...kept, ...lowestFreeSlots(kept, replicas - kept.length)].sort((a, b) => a - b);
    const size = (role === 'controlplane' ? input.spec?.controlPlane.size : sizes.get(pool)) ?? '';
    return slots.map((slot) => toMachineSlot(input, { role, pool, size }, slot));
  });
}
