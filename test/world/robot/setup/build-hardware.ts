import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FirmwareBootEntry, ServerDisk, ServerHardware, ServerNic } from '../hardware.ts';
import type { ServerSoftware } from '../machine/software.ts';
import type { DiskSeed } from './hardware-seed.ts';
import type { ServerSeed } from './seed.ts';

/** Builds a server from its seed: files for its disks, with their content. */
export function buildHardware(seed: ServerSeed, folder: string, software: ServerSoftware): ServerHardware {
  const home = join(folder, `server-${seed.number}`);
  mkdirSync(home, { recursive: true });
  const disks = seed.disks.map((disk, index) => toDisk(seed, disk, index, home));
  for (const [index, disk] of disks.entries()) software.fill(disk, seed.disks[index]?.content ?? { kind: 'blank' });
  const nics = seed.nics.map((nic, index): ServerNic => {
    const mac = nic.mac ?? `02:60${hexOf(`${seed.number}-${index}`, 8).replace(/(..)/g, ':$1')}`;
    return { name: nic.name ?? `eth${index}`, mac, speedMbps: nic.speedMbps };
  });
  const entries = seed.firmware.entries ?? defaultBootEntries(seed, nics, disks);
  const order = seed.firmware.order ?? entries.map(({ id }) => id);
  const { kind, findsLoaders } = seed.firmware;
  return { cpu: seed.cpu, memoryMiB: seed.memoryMiB, nics, disks, firmware: { kind, entries, order, findsLoaders } };
}

const hexOf = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

function toDisk({ number, disks }: ServerSeed, seed: DiskSeed, index: number, home: string): ServerDisk {
  const kin = disks.slice(0, index).filter(({ bus }) => bus === seed.bus).length;
  const serial = seed.serial ?? `WRLD${number}${String.fromCharCode(65 + index)}`;
  const isNvme = seed.bus === 'nvme';
  const { sizeBytes, rotational, sectorBytes, bus, smart } = seed;
  return {
    name: seed.name ?? (isNvme ? `nvme${kin}n1` : `sd${String.fromCharCode(97 + kin)}`),
    path: join(home, `${serial.replace(/[^\w-]/g, '_')}.raw`),
    model: seed.model ?? (isNvme ? 'WORLD MZVL2512' : 'WORLD HUS726T4'),
    serial,
    wwn: seed.wwn ?? (isNvme ? `eui.${hexOf(serial, 16)}` : `0x5000${hexOf(serial, 12)}`),
    ...{ sizeBytes, rotational, sectorBytes, bus, smart },
  };
}

function defaultBootEntries(
  { disks: seeds }: ServerSeed,
  nics: readonly ServerNic[],
  disks: readonly ServerDisk[],
): FirmwareBootEntry[] {
  const network = nics.map(({ name, mac }) => ({
    label: `UEFI: PXE IPv4 ${mac}`,
    target: { kind: 'network', nic: name } as const,
  }));
  const installed = disks.flatMap(({ serial }, index) => {
    const content = seeds[index]?.content;
    return content?.kind === 'linux'
      ? [{ label: content.hetznerBuild ? 'debian' : content.hostname, target: { kind: 'disk', serial } as const }]
      : [];
  });
  return [...network, ...installed].map((entry, index) => ({
    id: index.toString(16).toUpperCase().padStart(4, '0'),
    active: true,
    ...entry,
  }));
}
