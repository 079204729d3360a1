import { type Outcome, waitFor } from '../../../engine/platform.ts';
import { roomOf } from '../choose-pool.ts';
import { dataDisksOf } from '../data-disks.ts';
import { roomFor } from '../disk-room.ts';
import { inGiB } from '../foresee-room.ts';
import { deepestDataset } from '../prefix.ts';
import type { Want } from '../promise-book.ts';
import { type Context, findDataset, sizeOf, systemOf } from '../system.ts';

const gibibyte = 2 ** 30;

interface Disk {
  readonly zvol: string;
  readonly sizeGiB: number;
}

/** All of a machine, in the order in which they are made. */
const disksOf = (context: Context): readonly Disk[] => [
  { zvol: systemOf(context).identity.zvol, sizeGiB: sizeOf(context).diskGiB },
  ...dataDisksOf(context),
];

/** `tank/talos` of `tank/talos/shop_cp_0_abcdefgh/boot`: a quota may lie on it. */
const placeOf = ({ zvol }: Disk): string => zvol.split('/').slice(0, -2).join('/');

/** Undefined once the room for all of its disks is promised to the machine; else how long to wait for it, in words. */
export const waitForRoom = (context: Context): Promise<Outcome | undefined> => askForRoom(context, disksOf(context));

/** The same in a step that makes disks, and maybe goes on after a crash: for those that are not there is asked anew. */
export async function waitForRoomAgain(context: Context): Promise<Outcome | undefined> {
  const system = systemOf(context);
  const disks = disksOf(context);
  if (roomOf(context).has(system.identity.uuid, disks.map(placeOf))) return undefined;
  const found = await Promise.all(disks.map(({ zvol }) => findDataset(system, zvol)));
  return await askForRoom(
    context,
    disks.filter((_, i) => !found[i]),
  );
}

async function askForRoom(context: Context, disks: readonly Disk[]): Promise<Outcome | undefined> {
  const { nas, identity, signal } = systemOf(context);
  const wants = wantsOf(disks);
  const ask = async (place: string): Promise<number> => {
    const [pool = '', ...prefix] = place.split('/');
    const at = { nas, signal: context.connections.signal };
    const dataset = await deepestDataset(at, { pool, datasetPrefix: prefix.join('/') });
    const bytes = Number(dataset?.available?.rawvalue ?? Number.NaN);
    // What cannot be seen is left to the steps that follow, which say why.
    return Number.isFinite(bytes) ? bytes : Number.POSITIVE_INFINITY;
  };
  const answer = await roomOf(context).hold(identity.uuid, wants, ask, signal);
  if (answer.held) return undefined;
  const { takes, spare = 0 } = wants.get(answer.place) ?? { takes: 0 };
  const left = inGiB(Math.max(0, answer.left));
  return waitFor(
    'RoomShort',
    30,
    `${answer.place} on ${nas.host} has ${left} beside what is promised to machines that are being made. The disks of this one take ${inGiB(takes)}, and TrueNAS wants ${inGiB(spare)} more to be free beside them. Free some, choose another truenas.pool, or give its size smaller disks. It goes on by itself when there is enough.`,
  );
}

/** By place. */
function wantsOf(disks: readonly Disk[]): ReadonlyMap<string, Want> {
  const places = [...new Set(disks.map(placeOf))];
  return new Map(
    places.map((place) => {
      const here = disks.filter((disk) => placeOf(disk) === place);
      return [place, roomFor(here.map(({ sizeGiB }) => sizeGiB * gibibyte))];
    }),
  );
}
