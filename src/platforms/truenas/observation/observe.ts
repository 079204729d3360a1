import type { Drift, Observation } from '../../../engine/observation.ts';
import type { Vm } from '../api/schema.ts';
import { systemEndpointOf } from '../config/config.ts';
import { hasCode } from '../errors.ts';
import { describeUnprovenAbsence } from '../resources/dataset/absence-proof.ts';
import { pickVm, type TrueNasStepContext } from '../resources/machine-scope.ts';
import { seedDrift } from '../steps/post-join/post-join.ts';
import { dataDiskDrift, dataStorageDrift } from './data-disk-drift.ts';
import { diskSizeDrift } from './disk-size-drift.ts';
import { drift } from './drift.ts';
import { equipmentDrift } from './equipment-drift.ts';
import { readMachineSnapshot, type TrueNasMachineSnapshot } from './machine-snapshot.ts';
import { fingerprintMachine } from './observe-all.ts';
import { storageDrift } from './storage-drift.ts';
import { vmDrift } from './vm-drift.ts';

/** Observes one machine. Changes nothing, and shares its calls with all machines on the system. */
export async function observe(context: TrueNasStepContext): Promise<Observation> {
  const snapshot = await readMachineSnapshot(context);
  return { ...toObservation(context, snapshot), fingerprint: fingerprintMachine(snapshot, context.facts) };
}

function toObservation(context: TrueNasStepContext, snapshot: TrueNasMachineSnapshot): Observation {
  const storage = [
    ...storageDrift(snapshot, context.facts),
    ...dataStorageDrift(snapshot, context.facts),
    ...diskKeyDrift(context),
  ];
  let found: ReturnType<typeof pickVm>;
  try {
    found = pickVm(snapshot.system, snapshot.vms);
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_VM_TWICE')) throw error;
    return { exists: true, drift: [drift('VmTwice', error.message), ...storage] };
  }
  const { own, foreign } = found;
  if (!own) {
    const elsewhere = systemChangedDrift(context, snapshot);
    if (elsewhere) return { exists: false, drift: [elsewhere] };
    const isLost = !foreign && storage.some(({ reason }) => reason === 'DiskGone' || reason === 'DatasetGone');
    return {
      exists: false,
      ...(isLost ? { isLost: true as const } : {}),
      drift: [vmGoneDrift(snapshot, foreign, storage), ...storage],
    };
  }
  const all = [
    ...storage,
    ...vmDrift(own, snapshot.system, context),
    ...equipmentDrift(own, snapshot.system, context),
    ...dataDiskDrift(own, context),
    ...diskSizeDrift(snapshot, context, own),
    ...seedDrift(context),
  ];
  return { exists: true, ...powerStateOf(own), drift: sortBySeverity(all) };
}

const needsPerson = ({ isMinor, repair }: Drift): boolean => !isMinor && !repair;

const withoutRepair = ({ repair: _, ...rest }: Drift): Drift => rest;

/**
 * Sorts drift: first what needs a person, then what can be repaired, then what is only informative. While drift of the
 * first kind exists (gone, locked, broken, another owner), nothing else is repaired.
 */
function sortBySeverity(all: readonly Drift[]): Drift[] {
  const stalled = all.filter(needsPerson);
  const others = all.filter((one) => !needsPerson(one));
  const rest = stalled.length > 0 ? others.map(withoutRepair) : others;
  return [...stalled, ...rest.filter(({ isMinor }) => !isMinor), ...rest.filter(({ isMinor }) => isMinor)];
}

/** The machine works until the system restarts. Then it could not be unlocked. */
function diskKeyDrift({ facts, diskKey }: TrueNasStepContext): Drift[] {
  if (facts['encrypted'] !== true || diskKey.isKept()) return [];
  const message = `The ${diskKey.location} with the key of the disks no longer exists: restore it before the system is restarted.`;
  return [drift('DiskKeyMissing', message, { isMinor: true })];
}

/**
 * The power state, for machines that are on or off; other states are reported as drift. Each start has its own QEMU
 * process, and a reboot by the guest keeps it.
 */
function powerStateOf({ status: { state, pid } }: Vm): Pick<Observation, 'runs' | 'run'> {
  if (state === 'RUNNING') return { runs: true, ...(typeof pid === 'number' ? { run: String(pid) } : {}) };
  return state === 'STOPPED' ? { runs: false } : {};
}

/** truenas.url names or leads to another system now. The machine is still on the former one. */
function systemChangedDrift(
  { facts, config }: TrueNasStepContext,
  { datasets, pools, system }: TrueNasMachineSnapshot,
): Drift | undefined {
  const unseen = describeUnprovenAbsence(facts, pools, system.nas.host);
  if (unseen?.reason === 'SystemChanged') return drift(unseen.reason, unseen.message);
  const made = facts['system'];
  const { host } = systemEndpointOf(config);
  if (typeof made !== 'string' || made === host || datasets.has(system.identity.dataset)) return undefined;
  const message = `This machine was created on ${made}, but truenas.url is ${host}, which has none of its resources. Restore the former.`;
  return drift('SystemChanged', message);
}

function vmGoneDrift({ system }: TrueNasMachineSnapshot, foreign: Vm | undefined, storage: readonly Drift[]): Drift {
  const { identity, nas } = system;
  const other = foreign ? ` There is a virtual machine ${foreign.name} without our mark, which is not changed.` : '';
  const message = `No virtual machine on ${nas.host} has the UUID ${identity.uuid}.${other}`;
  // A virtual machine with our name would block the new one.
  const hasDisk = !foreign && !storage.some(needsPerson);
  if (!hasDisk) return drift('VmGone', `${message} Delete the Machine to recreate it.`);
  const how = 'a virtual machine is created for the disk and started';
  const disk = `The disk ${identity.zvol} still exists. To recreate everything, delete the Machine.`;
  return drift('VmGone', `${message} ${disk}`, { repair: { mode: 'with-approval', effect: how } });
}
