import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBootDisc, buildBootVolume } from './boot-volume.ts';
import { buildConsoleProgram } from './console-program.ts';
import type { GuestParts } from './guest-parts.ts';
import { buildInitramfs } from './initramfs.ts';
import { buildUnifiedImage } from './unified-image.ts';

/** Volume label of the disc. */
export const guestDiscLabel = 'GUEST_LINUX';

/** What the disk says on the serial console once it has been booted from. */
export const installedMarker = 'fact booted disk';

/**
 * A disc with a small Linux that does what an installer does: it says what it finds, makes the first disk bootable,
 * serves its UUID over HTTP and waits for the power button. Linux would take half a minute to start by emulation, so the
 * disk gets a program that says one line. `drives` is how many disks and CD-ROMs the machine has.
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
  // The length of a volume does not depend on a number of a fixed length: the place of the payload is known beforehand.
  const { payloadSector } = buildBootDisc(guestDiscLabel, first(0), installed);
  return buildBootDisc(guestDiscLabel, first(payloadSector), installed).image;
}

/** By emulation, everything that protects only costs time. */
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
