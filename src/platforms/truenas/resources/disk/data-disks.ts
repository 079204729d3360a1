import type { NodeVolume } from '../../../../engine/node-volume.ts';
import type { Facts } from '../../../../engine/step.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { dataDiskDeviceAt } from '../../config/disks.ts';
import { vmIdentityOf } from '../identity.ts';
import type { TrueNasStepContext } from '../machine-scope.ts';

/** A disk of a machine beside the boot disk. */
export interface DataDisk {
  readonly name: string;
  /** Its filesystem: the machine's own, or one of the same name on another pool. */
  readonly folder: string;
  readonly zvol: string;
  readonly sizeGiB: number;
  readonly raw: boolean;
}

type DataDiskContext = Pick<TrueNasStepContext, 'owner' | 'config' | 'facts'> & {
  readonly node: Pick<TrueNasStepContext['node'], 'size'>;
};

/**
 * The data disks of a machine, in the order of attachment. The recorded facts count: later changes of a size affect new
 * machines only.
 */
export function dataDisksOf({ owner, config, facts, node }: DataDiskContext): readonly DataDisk[] {
  if (typeof facts['dataset'] === 'string') return recordedDisks(facts);
  const { vmName, dataset } = vmIdentityOf({ owner, config, facts });
  const size = config.sizes.find(({ name }) => name === node.size);
  return (size?.disks ?? []).map(({ name, sizeGiB, pool, raw }) => {
    const folder = pool === undefined ? dataset : `${pool}/${config.datasetPrefix}/${vmName}`;
    return { name, folder, zvol: zvolIn(folder, name), sizeGiB, raw };
  });
}

/**
 * The format of the fact, e.g.
 * `tank/talos/shop_cp_0_abcdefgh/disk-data:50 fast/talos/shop_cp_0_abcdefgh/disk-cache:20:raw`.
 */
export function toDisksFact(disks: readonly DataDisk[]): Facts {
  if (disks.length === 0) return {};
  return { disks: disks.map(({ zvol, sizeGiB, raw }) => [zvol, sizeGiB, ...(raw ? ['raw'] : [])].join(':')).join(' ') };
}

/** The recorded disks: all that can have been created. */
export function recordedDisks(facts: Facts): readonly DataDisk[] {
  return String(facts['disks'] ?? '')
    .split(/\s+/)
    .flatMap((entry) => {
      const at = entry.lastIndexOf('/disk-');
      const [, name = '', sizeGiB, raw] = /^\/disk-([a-z0-9-]+):(\d+)(:raw)?$/.exec(entry.slice(at)) ?? [];
      if (at <= 0 || name === '') return [];
      const folder = entry.slice(0, at);
      return [{ name, folder, zvol: zvolIn(folder, name), sizeGiB: Number(sizeGiB), raw: raw !== undefined }];
    });
}

const zvolIn = (folder: string, name: string): string => `${folder}/disk-${name}`;

/** Device path of a zvol on the system. */
export const pathOfZvol = (zvol: string): string => `/dev/zvol/${zvol}`;

/** Filesystems on other pools that hold only data disks of the machine. */
export const filesystemsOnOtherPools = (disks: readonly DataDisk[], dataset: string): readonly string[] =>
  [...new Set(disks.map(({ folder }) => folder))].filter((folder) => folder !== dataset);

/** The volumes that Talos creates on the disks. Raw disks are left out but count in the order. */
export const volumesOf = (disks: readonly DataDisk[]): readonly NodeVolume[] =>
  disks.flatMap(({ name, sizeGiB, raw }, i) => (raw ? [] : [{ name, device: dataDiskDeviceAt(i), sizeGiB }]));

/** Every pool of the configuration, with the field that names it. */
export function namedPools({ pool, furtherPools = [], sizes }: TrueNasConfig): readonly NamedPool[] {
  const others = furtherPools.map((name, i) => ({ field: `truenas.furtherPools[${i}]`, pool: name }));
  const ofDisks = sizes.flatMap(({ disks = [] }, i) =>
    disks.flatMap((disk, j) =>
      disk.pool === undefined ? [] : [{ field: `truenas.sizes[${i}].disks[${j}].pool`, pool: disk.pool }],
    ),
  );
  return [{ field: 'truenas.pool', pool }, ...others, ...ofDisks];
}

interface NamedPool {
  readonly field: string;
  readonly pool: string;
}
