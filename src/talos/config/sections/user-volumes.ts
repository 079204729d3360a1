import type { NodeVolume } from '../../../engine/node-volume.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput } from '../machine-config-input.ts';

/**
 * What Talos makes of further disks: an XFS of the volume's name, mounted at `/var/mnt/<name>`. A disk is told by its place and
 * its size in bytes together. Were they in another order, a volume would wait rather than take the disk of another; the serial
 * number of a VirtIO disk is not among what Talos reads. Once it is made, Talos finds the volume again by its name.
 */
export const buildUserVolumes = ({ hardware }: Pick<MachineConfigInput, 'hardware'>): readonly ConfigDocument[] =>
  (hardware.volumes ?? []).map((volume) => ({
    apiVersion: 'v1alpha1',
    kind: 'UserVolumeConfig',
    name: volume.name,
    provisioning: { diskSelector: { match: diskSelectorOf(volume) }, minSize: `${minSizeMiB(volume)}MiB`, grow: true },
  }));

const diskSelectorOf = ({ device, sizeGiB }: NodeVolume): string =>
  `disk.dev_path == "${device}" && disk.size == ${sizeGiB}u * GiB`;

/** The whole disk but for its partition tables, and what alignment costs. */
const minSizeMiB = ({ sizeGiB }: NodeVolume): number => sizeGiB * 1024 - 8;
