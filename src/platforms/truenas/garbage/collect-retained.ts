import { z } from 'zod';
import type { GarbageContext, RetainedResource } from '../../../engine/capabilities/garbage.ts';
import type { TrueNasClient } from '../api/client.ts';
import { Dataset, isPoolWorking, Pool, Vm } from '../api/schema.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { parseDatasetRef } from '../resources/dataset/dataset-ref.ts';
import { vmIdentityOf } from '../resources/identity.ts';

/**
 * Releases what is retained for machines of this system that left nothing here: no virtual machine has the UUID, and no
 * dataset on any pool has the name, whatever their owner. The pools of the machine have to work: a pool that cannot be
 * read may hold its disks, and the machine may run.
 */
export async function collectRetained(
  context: GarbageContext<TrueNasConfig>,
  nas: TrueNasClient,
): Promise<readonly string[]> {
  const { config, signal } = context;
  const { host } = systemEndpointOf(config);
  const kept = (await context.retained()).filter(({ system }) => system === host);
  if (kept.length === 0) return [];
  const bare = { extra: { retrieve_children: false } };
  const [vms, pools, datasets] = await Promise.all([
    nas.read('vm.query', [], z.array(Vm), { signal }),
    nas.read('pool.query', [], z.array(Pool), { signal }),
    nas.read('pool.dataset.query', [[], bare], z.array(Dataset), { signal }),
  ]);
  const working = new Set(pools.filter(isPoolWorking).map(({ guid }) => guid ?? ''));
  const isGone = ({ machine, roots: pinned = [] }: RetainedResource): boolean => {
    const roots = pinned.map(parseDatasetRef);
    const { uuid, vmName } = vmIdentityOf({ owner: { ...context.instance, machine }, config, facts: {} });
    const isMeant = ({ id }: Dataset) => id.split('/').includes(vmName) || roots.some(({ dataset }) => dataset === id);
    if (vms.some((vm) => vm.uuid?.toLowerCase() === uuid || vm.name === vmName) || datasets.some(isMeant)) return false;
    return roots.length > 0 && roots.every(({ pool }) => working.has(pool));
  };
  const told: string[] = [];
  for (const one of kept) {
    if (isGone(one) && (await one.deleteIfUnneeded()))
      told.push(
        `Nothing is left of ${one.machine} on ${host}, and nobody knows of it: ${one.description} is given up.`,
      );
  }
  return told;
}
