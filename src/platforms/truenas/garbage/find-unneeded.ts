import { z } from 'zod';
import type { GarbageContext, RetainedResource } from '../../../engine/capabilities/garbage.ts';
import { connectTrueNas } from '../api/client.ts';
import { Dataset, isPoolWorking, Pool, Vm } from '../api/schema.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { parseDatasetRef } from '../resources/dataset/dataset-ref.ts';
import { vmIdentityOf } from '../resources/identity.ts';

/**
 * What is retained for machines of this system that left nothing here: no virtual machine has the UUID, and no dataset
 * on any pool has the name, whatever their owner. The pools of the machine have to work: a pool that cannot be read may
 * hold its disks, and the machine may run.
 */
export async function findUnneeded<T extends RetainedResource>(
  context: GarbageContext<TrueNasConfig>,
  retained: readonly T[],
): Promise<readonly T[]> {
  const { config, signal } = context;
  const { host } = systemEndpointOf(config);
  const here = retained.filter(({ system }) => system === host);
  if (here.length === 0) return [];
  const nas = connectTrueNas(context);
  const bare = { extra: { retrieve_children: false } };
  const [vms, pools, datasets] = await Promise.all([
    nas.read('vm.query', [], z.array(Vm), { signal }),
    nas.read('pool.query', [], z.array(Pool), { signal }),
    nas.read('pool.dataset.query', [[], bare], z.array(Dataset), { signal }),
  ]);
  const working = new Set(pools.filter(isPoolWorking).map(({ guid }) => guid ?? ''));
  return here.filter(({ machine, roots: recorded = [] }) => {
    const roots = recorded.map(parseDatasetRef);
    const { uuid, vmName } = vmIdentityOf({ owner: { ...context.instance, machine }, config, facts: {} });
    const isMeant = ({ id }: Dataset) => id.split('/').includes(vmName) || roots.some(({ dataset }) => dataset === id);
    if (vms.some((vm) => vm.uuid?.toLowerCase() === uuid || vm.name === vmName) || datasets.some(isMeant)) return false;
    return roots.length > 0 && roots.every(({ pool }) => working.has(pool));
  });
}
