import { resolve } from 'node:path';
import { z } from 'zod';
import type { MachineDescription } from './machine.ts';

const Path = z.string().startsWith('/');

/**
 * The input of a program that runs machines: one JSON document on standard input. It is a contract with other programs.
 * Every path is a real local file; lower order boots first, over disks and CD-ROMs together.
 */
export const MachineDocument = z.strictObject({
  name: z.string().min(1),
  uuid: z.uuid(),
  vcpus: z.int().positive(),
  memoryMiB: z.int().positive(),
  firmware: z.enum(['uefi', 'bios']),
  /** `host`, a model by libvirt's name, or null: QEMU's default. */
  cpuModel: z.string().nullable(),
  disks: z.array(z.strictObject({ path: Path, sizeBytes: z.int().nonnegative(), serial: z.string(), order: z.int() })),
  cdroms: z.array(z.strictObject({ path: Path, order: z.int() })),
  nics: z.array(z.strictObject({ mac: z.string(), bridge: z.string() })),
  /** The program appends the output of the machine's first serial port here. */
  serialLog: Path,
});
export type MachineDocument = z.infer<typeof MachineDocument>;

/** The document of a machine. */
export function toMachineDocument(machine: MachineDescription): MachineDocument {
  const { name, uuid, vcpus, memoryMiB, firmware, cpuModel } = machine;
  return {
    ...{ name, uuid, vcpus, memoryMiB, firmware, cpuModel },
    disks: machine.disks.map(({ path, sizeBytes, serial, order }) => ({
      path: resolve(path),
      sizeBytes,
      serial,
      order,
    })),
    cdroms: machine.cdroms.map(({ path, order }) => ({ path: resolve(path), order })),
    nics: machine.nics.map(({ mac, bridge }) => ({ mac, bridge })),
    serialLog: resolve(machine.serialLog),
  };
}
