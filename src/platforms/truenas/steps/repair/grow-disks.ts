import { z } from 'zod';
import { done, type Step } from '../../../../engine/step.ts';
import { ProviderError } from '../../../../lib/errors.ts';
import { hasCode } from '../../errors.ts';
import { recordedDisks, toDisksFact } from '../../resources/disk/data-disks.ts';
import {
  type DesiredDisk,
  desiredBytes,
  desiredDisksOf,
  tooSmallReason,
  volumeBytes,
} from '../../resources/disk/disk-sizes.ts';
import { type GrowthRejection, toGrowthRejectionsFact } from '../../resources/disk/growth-rejection.ts';
import { toGuestDiskSizesFact } from '../../resources/disk/guest-disk-sizes.ts';
import { findOwnDataset, findVm, type MachineScope, machineScopeOf } from '../../resources/machine-scope.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: disks have to be grown. After: the sizes that the running guest sees are recorded, because they cannot be
 * read afterwards. Done when they are recorded, or when the machine is off.
 */
export const guestDiskSizesRecorded: Step<TrueNasRepairContext> = {
  name: 'guest-view-noted',
  async run(context) {
    const system = machineScopeOf(context);
    const small = await findTooSmall(context, system);
    const { own: vm } = small.length > 0 ? await findVm(system) : {};
    if (!vm) return done();
    const sizes = small.map(({ disk, bytes }) => [disk.zvol, bytes] as const);
    return done(toGuestDiskSizesFact(context.facts, vm, sizes));
  },
};

/**
 * Before: the sizes that the guest sees are recorded. After: each disk has its desired size. None is ever shrunk, and
 * TrueNAS checks the space. Done when none is too small. A refusal is recorded and blocks no other repair. The record
 * of data disks is updated; an outdated one is harmless, since Talos finds a volume by its name.
 */
export const disksGrown: Step<TrueNasRepairContext> = {
  name: 'disks-grown',
  async run(context) {
    const system = machineScopeOf(context);
    const small = await findTooSmall(context, system);
    if (small.length === 0) return done();
    const refused: GrowthRejection[] = [];
    const grown = new Map<string, number>();
    for (const { disk } of small) {
      const rejection = await growDisk(system, disk);
      if (rejection === undefined) grown.set(disk.zvol, disk.sizeGiB);
      else refused.push({ zvol: disk.zvol, message: rejection });
    }
    const disks = recordedDisks(context.facts).map((disk) => ({
      ...disk,
      sizeGiB: grown.get(disk.zvol) ?? disk.sizeGiB,
    }));
    return done({ ...toDisksFact(disks), ...toGrowthRejectionsFact(refused, context.clock.now()) });
  },
};

/** The disks that have to be grown, read now, with our mark. */
async function findTooSmall(context: TrueNasRepairContext, system: MachineScope) {
  const due = desiredDisksOf(context).filter((disk) => context.reasons.includes(tooSmallReason(disk)));
  const found = await Promise.all(
    due.map(async (disk) => ({ disk, dataset: await findOwnDataset(system, disk.zvol) })),
  );
  return found.flatMap(({ disk, dataset }) => {
    const bytes = dataset ? volumeBytes(dataset) : Number.NaN;
    return bytes < desiredBytes(disk) ? [{ disk, bytes }] : [];
  });
}

/** The reason of TrueNAS's refusal, if it refused. */
async function growDisk({ nas, signal }: MachineScope, disk: DesiredDisk): Promise<string | undefined> {
  const change = { volsize: desiredBytes(disk) };
  try {
    await nas.change('pool.dataset.update', [disk.zvol, change], z.unknown(), { signal, seconds: 60 });
    return undefined;
  } catch (error) {
    if (error instanceof ProviderError && (error.retry === 'after-change' || hasCode(error, 'TRUENAS_CALL_FAILED')))
      return error.message;
    throw error;
  }
}
