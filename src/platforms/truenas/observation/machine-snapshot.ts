import type { Facts } from '../../../engine/step.ts';
import type { Pool } from '../api/schema.ts';
import { maxAgeWithoutEventsSeconds, type ReadFreshness } from '../cache/knowledge-clock.ts';
import { SystemInformer, type SystemList } from '../cache/system-informer.ts';
import { recordedDisks } from '../resources/disk/data-disks.ts';
import { type MachineScope, machineScopeOf, type TrueNasStepContext } from '../resources/machine-scope.ts';

/** The known state of one machine and its pools. */
export interface TrueNasMachineSnapshot extends SystemList {
  readonly system: MachineScope;
  /** The pool of the machine's dataset. */
  readonly pool: Pool | undefined;
}

/** Observations do not rely on events. All machines of a system share their reads. */
const freshness: ReadFreshness = { maxAgeSeconds: maxAgeWithoutEventsSeconds };

/** Three calls for all machines of a system together, or none while known state is new enough. */
export async function readMachineSnapshot(context: TrueNasStepContext): Promise<TrueNasMachineSnapshot> {
  const system = machineScopeOf(context);
  const { nas, identity, signal } = system;
  const informer = SystemInformer.of(nas);
  const folders = machineFilesystemsOf(identity.dataset, context.facts);
  const [vms, pools, datasets] = await Promise.all([
    informer.vms.named(identity, freshness, signal),
    informer.pools(freshness, signal),
    informer.datasets.beside(folders, freshness, signal),
  ]);
  const pool = pools.find(({ name }) => name === identity.dataset.split('/')[0]);
  return { vms, pools, datasets, system, pool };
}

/** The filesystems of a machine: its own dataset, and those of its data disks. */
export const machineFilesystemsOf = (dataset: string, facts: Facts): string[] => [
  dataset,
  ...recordedDisks(facts).map(({ folder }) => folder),
];
