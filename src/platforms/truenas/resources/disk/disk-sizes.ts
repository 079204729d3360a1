import type { Dataset } from '../../api/schema.ts';
import { vmIdentityOf } from '../identity.ts';
import type { TrueNasStepContext } from '../machine-scope.ts';
import { type DataDisk, recordedDisks } from './data-disks.ts';

/** A disk that a machine was made with, and what it is to have by now. */
export interface DesiredDisk extends Pick<DataDisk, 'zvol' | 'sizeGiB' | 'raw'> {}

type DiskSizeContext = Pick<TrueNasStepContext, 'owner' | 'config' | 'facts'> & {
  readonly node: Pick<TrueNasStepContext['node'], 'size'>;
};

/**
 * The disks that a machine was made with, each as large as its size says now. Where that is gone, or has no disk of a name any
 * more, nothing is wanted of them.
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
/** Of a zvol. Not a number where TrueNAS does not say it: then it is neither too small nor too large. */
export const volumeBytes = ({ volsize }: Dataset): number => Number(volsize?.rawvalue ?? Number.NaN);
/** As people are told, e.g. `40 GiB`. */
export const formatDiskSize = (bytes: number): string => `${Number((bytes / gibibyte).toFixed(2))} GiB`;

/** What is said of one that is too small. What is on a raw disk, and bears that its end moves, only people know. */
export const tooSmallReason = ({ raw }: DesiredDisk) => (raw ? 'RawDiskSmaller' : 'DiskSmaller');
