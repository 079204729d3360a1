import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBootDisc, buildBootVolume } from './boot-volume.ts';
import { buildConsoleProgram } from './console-program.ts';
import type { GuestParts } from './guest-parts.ts';
import { buildInitramfs } from './initramfs.ts';
import { buildUnifiedImage } from './unified-image.ts';

/** Volume label of the disc. */
export const guestDiscLabel = 'GUEST_LINUX';

/** The disk's message on the serial console after it has booted. */
export const installedMarker = 'fact booted disk';

/**
 * A disc with a small Linux that acts like an installer: it prints its hardware, makes the first disk bootable, serves
 * its UUID over HTTP and waits for the power button. Linux would take half a minute to start by emulation, so the disk
 * gets a program that prints one line. `drives` is the number of disks and CD-ROMs of the machine.
 */
export function buildGuestDisc(parts: GuestParts, drives: number): Buffer {
  const installed = buildBootVolume(buildConsoleProgram(`${installedMarker}\n`));
  const first = (sector: number) =>
    buildBootVolume(
      buildLinux(parts, [
        `drives=${drives}`,
        `sector=${`${sector}`.padStart(8, '0')}`,
        `sectors=${installed.length / 2048}`,
      ]),
    );
  // The length of a volume does not depend on a fixed-width number, so the offset of the payload is known in advance.
  const { payloadSector } = buildBootDisc(guestDiscLabel, first(0), installed);
  return buildBootDisc(guestDiscLabel, first(payloadSector), installed).image;
}

/** Under emulation, security mitigations only cost time. */
const kernelArguments = [
  'console=ttyS0',
  'quiet',
  'panic=1',
  'mitigations=off',
  'nokaslr',
  'no_timer_check',
  'apparmor=0',
];

function buildLinux({ stub, kernel, busybox, modules }: GuestParts, words: readonly string[]): Buffer {
  const tree = {
    bin: undefined,
    'bin/busybox': busybox,
    dev: undefined,
    modules: undefined,
    proc: undefined,
    sys: undefined,
    init: readFileSync(join(import.meta.dirname, 'init.sh')),
    'modules/order': `${[...modules.keys()].join(' ')}\n`,
    ...Object.fromEntries([...modules].map(([name, content]) => [`modules/${name}.ko`, content])),
  };
  return buildUnifiedImage(stub, {
    '.osrel': Buffer.from('ID=guest\nVERSION_ID=1\n\0'),
    '.cmdline': Buffer.from(`${[...kernelArguments, ...words].join(' ')}\0`),
    '.initrd': buildInitramfs(tree),
    '.linux': kernel,
  });
}
