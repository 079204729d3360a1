import type { Drift, Observation } from '../../engine/observation.ts';
import { endpointOf } from './config.ts';
import { dataDiskDrift, dataStorageDrift } from './data-disk-drift.ts';
import { diskSizeDrift } from './disk-size-drift.ts';
import { drift } from './drift.ts';
import { equipmentDrift } from './equipment-drift.ts';
import { hasCode } from './errors.ts';
import { traceIn } from './glance.ts';
import { lookAround, type Sight } from './looks.ts';
import { describeUnseen } from './made-here.ts';
import type { Vm } from './schema.ts';
import { seedDrift } from './settle.ts';
import { storageDrift } from './storage-drift.ts';
import { type Context, pickVm } from './system.ts';
import { vmDrift } from './vm-drift.ts';

/** What has become of a machine. Nothing is changed; what is asked for is shared with all machines on the system. */
export async function observe(context: Context): Promise<Observation> {
  const sight = await lookAround(context);
  return { ...judge(context, sight), trace: traceIn(sight, context.facts) };
}

function judge(context: Context, sight: Sight): Observation {
  const storage = [
    ...storageDrift(sight, context.facts),
    ...dataStorageDrift(sight, context.facts),
    ...keyDrift(context),
  ];
  let found: ReturnType<typeof pickVm>;
  try {
    found = pickVm(sight.system, sight.vms);
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_VM_TWICE')) throw error;
    return { exists: true, drift: [drift('VmTwice', error.message), ...storage] };
  }
  const { own, foreign } = found;
  if (!own) {
    const elsewhere = goneElsewhere(context, sight);
    if (elsewhere) return { exists: false, drift: [elsewhere] };
    const isLost = !foreign && storage.some(({ reason }) => reason === 'DiskGone' || reason === 'DatasetGone');
    return {
      exists: false,
      ...(isLost ? { lost: true as const } : {}),
      drift: [whyGone(sight, foreign, storage), ...storage],
    };
  }
  const all = [
    ...storage,
    ...vmDrift(own, sight.system, context),
    ...equipmentDrift(own, sight.system, context),
    ...dataDiskDrift(own, context),
    ...diskSizeDrift(sight, context, own),
    ...seedDrift(context),
  ];
  return { exists: true, ...runsOf(own), drift: inOrder(all) };
}

const isStuck = ({ minor, mend }: Drift): boolean => !minor && !mend;

const without = ({ mend: _, ...rest }: Drift): Drift => rest;

/**
 * What people have to see to, what can be put right, what is only to be known. While there is something of the first kind (gone,
 * locked, broken, of others) nothing else is put right.
 */
function inOrder(all: readonly Drift[]): Drift[] {
  const stuck = all.filter(isStuck);
  const others = all.filter((one) => !isStuck(one));
  const rest = stuck.length > 0 ? others.map(without) : others;
  return [...stuck, ...rest.filter(({ minor }) => !minor), ...rest.filter(({ minor }) => minor)];
}

/** It serves until the system is restarted; then nobody could unlock it. */
function keyDrift({ facts, diskKey }: Context): Drift[] {
  if (facts['encrypted'] !== true || diskKey.isKept()) return [];
  const message = `There is no ${diskKey.place} any more, which holds the key of its disks: bring it back before the system is restarted.`;
  return [drift('DiskKeyMissing', message, { minor: true })];
}

/**
 * Of a machine that is neither on nor off, what it is instead stands in its drift. Each start has a process of its own; a reboot
 * from within keeps it.
 */
function runsOf({ status: { state, pid } }: Vm): Pick<Observation, 'runs' | 'run'> {
  if (state === 'RUNNING') return { runs: true, ...(typeof pid === 'number' ? { run: String(pid) } : {}) };
  return state === 'STOPPED' ? { runs: false } : {};
}

/** When truenas.url has named or led to another system since, what was made is still where it was. */
function goneElsewhere({ facts, config }: Context, { datasets, pools, system }: Sight): Drift | undefined {
  const unseen = describeUnseen(facts, pools, system.nas.host);
  if (unseen?.reason === 'SystemChanged') return drift(unseen.reason, unseen.message);
  const made = facts['system'];
  const { host } = endpointOf(config);
  if (typeof made !== 'string' || made === host || datasets.has(system.identity.dataset)) return undefined;
  const message = `This machine was made on ${made}, but truenas.url names ${host}, where nothing of it is. Name the former.`;
  return drift('SystemChanged', message);
}

function whyGone({ system }: Sight, foreign: Vm | undefined, storage: readonly Drift[]): Drift {
  const { identity, nas } = system;
  const other = foreign ? ` There is a ${foreign.name}, which is not ours and is not touched.` : '';
  const message = `No virtual machine on ${nas.host} has the UUID ${identity.uuid}.${other}`;
  // One that has our name would be in the way.
  const hasDisk = !foreign && !storage.some(isStuck);
  if (!hasDisk) return drift('VmGone', `${message} Delete the Machine to have it made anew.`);
  const how = 'a virtual machine is made for that and started';
  const disk = `Its disk ${identity.zvol} is still there. To have all made anew, delete the Machine.`;
  return drift('VmGone', `${message} ${disk}`, { mend: { when: 'when-agreed', how } });
}
