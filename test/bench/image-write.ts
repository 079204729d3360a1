import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingForRealRescue, runBesideRealRescue } from '../e2e/support/rescue/real-rescue.ts';
import { makeRawImage } from '../world/robot/rescue/test-raw-image.ts';
import type { ImageWriteTimes } from './image-write-script.ts';
import { type Benchmark, median, ratioMeasurement } from './measurement.ts';

const imageMiB = 1280;
/** The part of the image that does not compress: about as much as in a Talos image. The rest is zeros. */
const incompressibleMiB = 160;
const turns = 5;

/**
 * Writes an image to a loop device of this machine, with the provider's commands over OpenSSH and with the plain pipe,
 * alternately.
 */
export const imageWriteBenchmark: Benchmark = {
  name: 'Writing an image',
  missing: missingForRealRescue(),
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), 'write-path-'));
    try {
      const taken = JSON.parse(await runInRescue(folder)) as ImageWriteTimes[];
      for (const { ours, plain, direct } of taken)
        say(`ours ${ours} s, plain ${plain} s, plain past the cache ${direct} s`);
      const of = (pick: (turn: ImageWriteTimes) => number): number => median(taken.map(pick));
      const [ours, plain, direct] = [of((turn) => turn.ours), of((turn) => turn.plain), of((turn) => turn.direct)];
      const words = (theirs: number): string =>
        `${ours.toFixed(1)} s for ${imageMiB} MiB, all of it read back ÷ ${theirs.toFixed(1)} s, nothing read back; medians of ${turns} turns`;
      return [
        ratioMeasurement(
          'Time to write an image ÷ `curl | zstdcat | dd bs=4M conv=fsync`',
          ours,
          plain,
          1.25,
          words(plain),
        ),
        {
          what: 'The same ÷ `dd` past the page cache (`oflag=direct`)',
          measured: `${(ours / direct).toFixed(2)} (${words(direct)})`,
          goal: '',
        },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Runs the script next to a rescue system that has one disk; returns its output. */
async function runInRescue(folder: string): Promise<string> {
  const raw = makeRawImage(imageMiB, undefined, incompressibleMiB);
  const image = join(folder, 'image.zst');
  const packed = spawnSync('zstd', ['-q', '-o', image], { input: raw, maxBuffer: 2 ** 31 });
  if (packed.status !== 0) throw new Error(`zstd: ${packed.stderr}`);
  execFileSync('truncate', ['-s', '3G', join(folder, '0.raw')]);
  const visit = join(import.meta.dirname, 'image-write-script.ts');
  return await runBesideRealRescue(folder, visit, [image, join(folder, '0.raw'), String(turns)], 300);
}
