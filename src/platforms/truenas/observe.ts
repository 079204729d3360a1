import type { Drift, Observation } from '../../engine/platform.ts';
import { endpointOf } from './config.ts';
import { dataDiskDrift } from './data-disk-drift.ts';
import { hasCode } from './errors.ts';
import { lookAround, type Sight } from './looks.ts';
import type { Vm } from './schema.ts';
import { drift, storageDrift } from './storage-drift.ts';
import { type Context, pickVm } from './system.ts';
import { vmDrift } from './vm-drift.ts';

/** What has become of a machine. Nothing is changed; what is asked for is shared with all machines on the system. */
export async function observe(context: Context): Promise<Observation> {
  const sight = await lookAround(context);
  const storage = storageDrift(sight);
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
    return { exists: false, drift: elsewhere ? [elsewhere] : [whyGone(sight, foreign), ...storage] };
  }
  const all = [...storage, ...vmDrift(own, sight.system, context.config.bridge), ...dataDiskDrift(own, context)];
  return { exists: true, ...runsOf(own), drift: inOrder(all) };
}

/** What only is to be known comes last. */
const inOrder = (all: readonly Drift[]): Drift[] => [
  ...all.filter((one) => !one.minor),
  ...all.filter((one) => one.minor),
];

/** Of a machine that is neither on nor off, what it is instead stands in its drift. */
const runsOf = ({ status: { state } }: Vm): Pick<Observation, 'runs'> =>
  state === 'RUNNING' ? { runs: true } : state === 'STOPPED' ? { runs: false } : {};

/** When truenas.url has named another system since, what was made is still where it was. */
function goneElsewhere({ facts, config }: Context, { datasets, system }: Sight): Drift | undefined {
  const made = facts['system'];
  const { host } = endpointOf(config);
  if (typeof made !== 'string' || made === host || datasets.has(system.identity.dataset)) return undefined;
  const message = `This machine was made on ${made}, but truenas.url names ${host}, where nothing of it is. Name the former.`;
  return drift('SystemChanged', message);
}

function whyGone({ system }: Sight, foreign: Vm | undefined): Drift {
  const { identity, nas } = system;
  const other = foreign ? ` There is a ${foreign.name}, which is not ours and is not touched.` : '';
  const message = `No virtual machine on ${nas.host} has the UUID ${identity.uuid}.${other} Delete the Machine to have it made anew.`;
  return drift('VmGone', message);
}
