import type { Dataset } from '../../api/schema.ts';
import { vmIdentityOf } from '../identity.ts';
import type { TrueNasStepContext } from '../machine-scope.ts';
import { type DataDisk, recordedDisks } from './data-disks.ts';

/** A disk that a machine was created with, and its desired size. */
export interface DesiredDisk extends Pick<DataDisk, 'zvol' | 'sizeGiB' | 'raw'> {}

type DiskSizeContext = Pick<TrueNasStepContext, 'owner' | 'config' | 'facts'> & {
  readonly node: Pick<TrueNasStepContext['node'], 'size'>;
};

/**
 * The disks that a machine was created with, with their current sizes in the ProviderConfig. When the size or its disk
 * was removed there, no size is desired.
 */
export function desiredDisksOf({ owner, config, facts, node }: DiskSizeContext): readonly DesiredDisk[] {
  const size = config.sizes.find(({ name }) => name === node.size);
  if (!size) return [];
  const further = recordedDisks(facts).flatMap(({ name, zvol, raw }) => {
    const disk = size.disks?.find((one) => one.name === name);
    return disk ? [{ zvol, raw, sizeGiB: disk.sizeGiB }] : [];
  });
  const { zvol } = vmIdentityOf({ owner, config, facts });
  return [{ zvol, raw: false, sizeGiB: size.diskGiB }, ...further];
}

const gibibyte = 2 ** 30;
export const desiredBytes = ({ sizeGiB }: DesiredDisk): number => sizeGiB * gibibyte;
/** Size of a zvol. NaN where TrueNAS reports none, so that the disk counts as neither too small nor too large. */
export const volumeBytes = ({ volsize }: Dataset): number => Number(volsize?.rawvalue ?? Number.NaN);
/** Text for users, e.g. `40 GiB`. */
export const formatDiskSize = (bytes: number): string => `${Number((bytes / gibibyte).toFixed(2))} GiB`;

/** The reason for a disk that is too small. Only users know whether the content of a raw disk tolerates growth. */
export const tooSmallReason = ({ raw }: DesiredDisk) => (raw ? 'RawDiskSmaller' : 'DiskSmaller');
