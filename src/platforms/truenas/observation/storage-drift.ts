import type { Drift } from '../../../engine/observation.ts';
import type { Facts } from '../../../engine/step.ts';
import { isPoolWorking } from '../api/schema.ts';
import { lockedDrift } from '../resources/dataset/unlock.ts';
import { isOwnDataset } from '../resources/identity.ts';
import { dataLostMessage, diskGoneDrift, drift, notOwnedDrift } from './drift.ts';
import type { TrueNasMachineSnapshot } from './machine-snapshot.ts';

/** Drift of the pool, dataset and disk of a machine. Below a missing part nothing further is reported. */
export function storageDrift(snapshot: TrueNasMachineSnapshot, facts: Facts): Drift[] {
  const { pool, system } = snapshot;
  const { identity, nas } = system;
  if (!pool) {
    const name = identity.dataset.split('/')[0];
    return [drift('PoolGone', `The pool ${name} no longer exists on ${nas.host}. Import it.`)];
  }
  if (!isPoolWorking(pool)) {
    const message = `The pool ${pool.name} is ${pool.status}. Repair it: its content is not changed until then.`;
    return [drift('PoolFaulted', message)];
  }
  const worn = `The pool ${pool.name} is ${pool.status} and not healthy. Replace the failed device.`;
  const degraded = pool.healthy ? [] : [drift('PoolDegraded', worn, { isMinor: true })];
  return [...datasetDrift(snapshot, facts), ...degraded];
}

function datasetDrift({ datasets, system }: TrueNasMachineSnapshot, facts: Facts): Drift[] {
  const { identity, owner } = system;
  const [dataset, disk] = [datasets.get(identity.dataset), datasets.get(identity.zvol)];
  if (!dataset)
    return [drift('DatasetGone', `The dataset ${identity.dataset} with the disk no longer exists. ${dataLostMessage}`)];
  if (!disk) return [diskGoneDrift(identity.zvol)];
  const foreign = [dataset, disk].find((one) => !isOwnDataset(one, owner));
  if (foreign) return [notOwnedDrift(foreign.id)];
  const locked = [dataset, disk].find((one) => one.locked);
  return locked ? [lockedDrift(locked, system, facts)] : [];
}
