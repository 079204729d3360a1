import type { Drift } from '../../engine/observation.ts';
import { bytesOf, bytesWanted, reasonWhenSmall, type SizedDisk, sizedDisks, tellGiB } from './disk-sizes.ts';
import { drift } from './drift.ts';
import { seenSizes } from './guest-view.ts';
import { isOwnDataset } from './identity.ts';
import type { Sight } from './looks.ts';
import { refusalOf } from './refused-growth.ts';
import type { Dataset, Vm } from './schema.ts';
import type { Context } from './system.ts';

/** Disks that have another size than the machine's size says by now, or than its guest knows. It serves all the same. */
export function diskSizeDrift({ datasets, system }: Sight, context: Context, vm: Vm): Drift[] {
  return sizedDisks(context).flatMap((disk) => {
    const found = datasets.get(disk.zvol);
    // What is wrong with one that is gone, locked or of others is said already.
    if (!found || found.locked || !isOwnDataset(found, system.owner)) return [];
    return [...sizeDrift(disk, found, context), ...viewDrift(disk, found, context, vm)];
  });
}

function sizeDrift(disk: SizedDisk, found: Dataset, { facts, clock }: Context): Drift[] {
  const [has, wanted] = [bytesOf(found), bytesWanted(disk)];
  const sizes = `The disk ${disk.zvol} has ${tellGiB(has)}, and its size says ${tellGiB(wanted)} by now`;
  if (has > wanted) return [drift('DiskLarger', `${sizes}. No disk is made smaller.`, { minor: true })];
  if (!(has < wanted)) return [];
  const refusal = refusalOf(facts, disk.zvol, clock.now());
  const words = refusal ? ` TrueNAS refused to grow it, and is asked again every ten minutes. ${refusal.words}` : '';
  const mend: Drift['mend'] = {
    when: disk.raw ? 'when-agreed' : 'by-itself',
    how: 'it is grown',
    ...(refusal?.fresh ? { later: true } : {}),
  };
  return [drift(reasonWhenSmall(disk), `${sizes}.${words}`, { minor: true, mend })];
}

/** Of one that was grown while its machine ran. One that is suspended would be switched off for it. */
function viewDrift({ zvol }: SizedDisk, found: Dataset, { facts }: Context, vm: Vm): Drift[] {
  const [seen, has] = [seenSizes(facts, vm).get(zvol), bytesOf(found)];
  if (seen === undefined || !(seen < has) || vm.status.state !== 'RUNNING') return [];
  const grown = `The disk ${zvol} was grown from ${tellGiB(seen)} to ${tellGiB(has)}.`;
  const when =
    'The node has the room once its virtual machine was stopped and started; a reboot from within is not enough.';
  const mend = { when: 'when-agreed' as const, how: 'it is shut down and started again' };
  return [drift('RestartDue', `${grown} ${when}`, { minor: true, mend })];
}
