import { type StepOutcome, waitWithReason } from '../../../engine/step.ts';
import { formatGiB } from '../preflight/preflight-disk-space.ts';
import { findDeepestDataset } from '../resources/dataset/find-deepest-dataset.ts';
import { dataDisksOf } from '../resources/disk/data-disks.ts';
import { findDataset, getVmSize, machineScopeOf, type TrueNasStepContext } from '../resources/machine-scope.ts';
import { diskSpaceReservationsOf } from './choose-pool.ts';
import { toReservationRequest } from './disk-space.ts';
import type { ReservationRequest } from './reservation-table.ts';

const gibibyte = 2 ** 30;

interface DiskToCreate {
  readonly zvol: string;
  readonly sizeGiB: number;
}

/** All disks of a machine, in the order of their creation. */
const disksToCreate = (context: TrueNasStepContext): readonly DiskToCreate[] => [
  { zvol: machineScopeOf(context).identity.zvol, sizeGiB: getVmSize(context).diskGiB },
  ...dataDisksOf(context),
];

/** `tank/talos` of `tank/talos/shop_cp_0_abcdefgh/boot`. It may have a quota. */
const parentDatasetOf = ({ zvol }: DiskToCreate): string => zvol.split('/').slice(0, -2).join('/');

/** Undefined once the space for all disks is reserved; else a wait with its reason. */
export const waitForDiskSpace = (context: TrueNasStepContext): Promise<StepOutcome | undefined> =>
  reserveDiskSpace(context, disksToCreate(context));

/**
 * The same for a step that creates disks and may run after a crash: it reserves the space of the disks that are still
 * missing.
 */
export async function waitForDiskSpaceAgain(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  const system = machineScopeOf(context);
  const disks = disksToCreate(context);
  if (diskSpaceReservationsOf(context).has(system.identity.uuid, disks.map(parentDatasetOf))) return undefined;
  const found = await Promise.all(disks.map(({ zvol }) => findDataset(system, zvol)));
  return await reserveDiskSpace(
    context,
    disks.filter((_, i) => !found[i]),
  );
}

async function reserveDiskSpace(
  context: TrueNasStepContext,
  disks: readonly DiskToCreate[],
): Promise<StepOutcome | undefined> {
  const { nas, identity, signal } = machineScopeOf(context);
  const wants = toReservationRequests(disks);
  const ask = async (place: string): Promise<number> => {
    const [pool = '', ...prefix] = place.split('/');
    const at = { nas, signal: context.connections.signal };
    const dataset = await findDeepestDataset(at, { pool, datasetPrefix: prefix.join('/') });
    const bytes = Number(dataset?.available?.rawvalue ?? Number.NaN);
    // The following steps report why the dataset cannot be read.
    return Number.isFinite(bytes) ? bytes : Number.POSITIVE_INFINITY;
  };
  const answer = await diskSpaceReservationsOf(context).hold(identity.uuid, wants, ask, signal);
  if (answer.reserved) return undefined;
  const { takes, spare: unassigned = 0 } = wants.get(answer.place) ?? { takes: 0 };
  const left = formatGiB(Math.max(0, answer.left));
  return waitWithReason(
    'InsufficientDiskSpace',
    30,
    `${answer.place} on ${nas.host} has ${left} available, without the reservations of machines in creation. The disks of this machine take ${formatGiB(takes)}, and TrueNAS requires another ${formatGiB(unassigned)} to remain free. Free some space, choose another truenas.pool, or reduce the disks of the size. The step continues when there is enough space.`,
  );
}

/** The requests by place. */
function toReservationRequests(disks: readonly DiskToCreate[]): ReadonlyMap<string, ReservationRequest> {
  const places = [...new Set(disks.map(parentDatasetOf))];
  return new Map(
    places.map((place) => {
      const here = disks.filter((disk) => parentDatasetOf(disk) === place);
      return [place, toReservationRequest(here.map(({ sizeGiB }) => sizeGiB * gibibyte))];
    }),
  );
}
