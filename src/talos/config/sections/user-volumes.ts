import type { NodeVolume } from '../../../engine/node-volume.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput } from '../machine-config-input.ts';

/**
 * The volumes of further disks: an XFS with the volume's name, mounted at `/var/mnt/<name>`. A disk is selected by its
 * position and its size in bytes together. When the order of the disks changes, a volume waits instead of taking the
 * disk of another volume. Talos does not read the serial number of a VirtIO disk. Once the volume exists, Talos finds
 * it by its name.
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

/** The whole disk except for its partition tables and the loss by alignment. */
const minSizeMiB = ({ sizeGiB }: NodeVolume): number => sizeGiB * 1024 - 8;
