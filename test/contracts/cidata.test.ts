import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildMachineSeed, seedSizes } from '../support/fixtures/machine-seed.ts';

/** A message about a missing program; undefined when the program exists. */
const missing = (program: string): string | undefined =>
  spawnSync(program, ['--version'], { timeout: 10_000 }).error
    ? `The program ${program} is not installed here.`
    : undefined;

/**
 * A block device with the content of this file. Skips where the kernel offers no loop device or does not know ISO 9660.
 */
function attachLoop(path: string): string | { readonly missing: string } {
  const { status, stdout, stderr, error } = spawnSync('losetup', ['--find', '--show', '--read-only', path], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (status !== 0)
    return { missing: `This machine lets us attach no loop device: ${error?.message ?? stderr.trim()}` };
  spawnSync('modprobe', ['isofs']);
  if (readFileSync('/proc/filesystems', 'utf8').includes('iso9660')) return stdout.trim();
  execFileSync('losetup', ['--detach', stdout.trim()]);
  return { missing: "This machine's kernel knows no ISO 9660." };
}

/**
 * The seed as other programs see it. Talos looks for a volume that is labelled `cidata`, in this case or all in
 * capitals, of vfat or ISO 9660, and for these three names in its root (talos: platform/nocloud). Other tests check
 * that Talos's own kernel and the simulator agree on it.
 */
describe.each(seedSizes)('the seed of a machine with a configuration of %d bytes', (bytes) => {
  const { image, machineConfig } = buildMachineSeed(bytes);
  let folder = '';
  let path = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cidata-'));
    path = join(folder, 'seed.iso');
    writeFileSync(path, image);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('T40: is an ISO 9660 volume labelled cidata to `blkid`, whose rules udev and Talos share', ({ skip }) => {
    const why = missing('blkid');
    if (why) return skip(why);
    const answer = execFileSync('blkid', ['-p', '-o', 'export', path]).toString();
    expect(answer).toMatch(/^LABEL=cidata$/m);
    expect(answer).toMatch(/^TYPE=iso9660$/m);
    expect(answer).toMatch(/^USAGE=filesystem$/m);
  });

  it('is an ISO 9660 volume labelled cidata to `file`', ({ skip }) => {
    const why = missing('file');
    if (why) return skip(why);
    expect(execFileSync('file', ['-b', path]).toString()).toMatch(/^ISO 9660 .*'cidata'/);
  });

  // Rock Ridge and Joliet are two directories of the same files: a kernel may support either, or ignore one by a mount
  // option.
  it.for([
    ['by Rock Ridge', 'ro,nojoliet'],
    ['by Joliet', 'ro,norock'],
    ['with its default options', 'ro'],
  ] as const)('is mounted by the kernel %s, with exactly the three files, byte for byte', ([, options], { skip }) => {
    const device = attachLoop(path);
    if (typeof device !== 'string') return skip(device.missing);
    const mounted = mkdtempSync(join(folder, 'mounted-'));
    try {
      execFileSync('mount', ['-t', 'iso9660', '-o', options, device, mounted]);
      expect(readdirSync(mounted).sort()).toEqual(['meta-data', 'network-config', 'user-data']);
      expect(readFileSync(join(mounted, 'user-data'), 'utf8') === machineConfig).toBe(true);
      expect(readFileSync(join(mounted, 'meta-data'), 'utf8')).toBe(
        'instance-id: "23cc2129-a257-8644-95e0-289d55c69704"\nlocal-hostname: "shop-cp-0"\n',
      );
      expect(readFileSync(join(mounted, 'network-config'), 'utf8')).toMatch(/^version: 2\nethernets:\n/);
    } finally {
      spawnSync('umount', [mounted]);
      execFileSync('losetup', ['--detach', device]);
    }
  });
});
