import type { Drift } from '../../../engine/observation.ts';
import type { Dataset, Vm } from '../api/schema.ts';
import {
  type DesiredDisk,
  desiredBytes,
  desiredDisksOf,
  formatDiskSize,
  tooSmallReason,
  volumeBytes,
} from '../resources/disk/disk-sizes.ts';
import { findGrowthRejection } from '../resources/disk/growth-rejection.ts';
import { parseGuestDiskSizes } from '../resources/disk/guest-disk-sizes.ts';
import { isOwnDataset } from '../resources/identity.ts';
import type { TrueNasStepContext } from '../resources/machine-scope.ts';
import { drift } from './drift.ts';
import type { TrueNasMachineSnapshot } from './machine-snapshot.ts';

/**
 * Disks whose size differs from the machine's size in the ProviderConfig, or from what the guest sees. The machine
 * works all the same.
 */
export function diskSizeDrift(
  { datasets, system }: TrueNasMachineSnapshot,
  context: TrueNasStepContext,
  vm: Vm,
): Drift[] {
  return desiredDisksOf(context).flatMap((disk) => {
    const found = datasets.get(disk.zvol);
    // Disks that are gone, locked or of another owner are reported elsewhere.
    if (!found || found.locked || !isOwnDataset(found, system.owner)) return [];
    return [...sizeDrift(disk, found, context), ...guestSizeDrift(disk, found, context, vm)];
  });
}

function sizeDrift(disk: DesiredDisk, found: Dataset, { facts, clock }: TrueNasStepContext): Drift[] {
  const [has, wanted] = [volumeBytes(found), desiredBytes(disk)];
  const sizes = `The disk ${disk.zvol} has ${formatDiskSize(has)}; the configured size is ${formatDiskSize(wanted)}`;
  if (has > wanted) return [drift('DiskLarger', `${sizes}. Disks are never shrunk.`, { isMinor: true })];
  if (!(has < wanted)) return [];
  const rejection = findGrowthRejection(facts, disk.zvol, clock.now());
  const text = rejection ? ` TrueNAS rejected the resize, which is retried every ten minutes. ${rejection.words}` : '';
  const repair: Drift['repair'] = {
    mode: disk.raw ? 'with-approval' : 'automatic',
    effect: 'it is grown',
    ...(rejection?.fresh ? { isDeferred: true } : {}),
  };
  return [drift(tooSmallReason(disk), `${sizes}.${text}`, { isMinor: true, repair })];
}

/** A disk was grown while its machine ran. A suspended machine would have to be switched off. */
function guestSizeDrift({ zvol }: DesiredDisk, found: Dataset, { facts }: TrueNasStepContext, vm: Vm): Drift[] {
  const [seen, has] = [parseGuestDiskSizes(facts, vm).get(zvol), volumeBytes(found)];
  if (seen === undefined || !(seen < has) || vm.status.state !== 'RUNNING') return [];
  const grown = `The disk ${zvol} was grown from ${formatDiskSize(seen)} to ${formatDiskSize(has)}.`;
  const when =
    'The node can use the space after its virtual machine was stopped and started; a reboot of the node is not enough.';
  const repair = { mode: 'with-approval' as const, effect: 'it is shut down and started again' };
  return [drift('RestartDue', `${grown} ${when}`, { isMinor: true, repair })];
}
