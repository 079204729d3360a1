/**
 * Measures how long each method needs to write an image to the same disk, alternately, and prints one line of JSON.
 * Arguments: the file of the private key, the image, the file behind the disk, and the number of rounds. Runs next to a
 * rescue system with real tools.
 */
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SecretString } from '../../src/lib/secret-string.ts';
import { openRescue } from '../../src/platforms/hetzner-robot/rescue/connect.ts';
import { elapsedMs } from './measurement.ts';

/** Seconds of each method. */
export interface ImageWriteTimes {
  readonly ours: number;
  readonly plain: number;
  readonly direct: number;
}

const [keyFile = '', imageFile = '', diskFile = '', turns = ''] = process.argv.slice(2);
const run = promisify(execFile);
const device = execFileSync('losetup', ['-n', '-O', 'NAME', '-j', diskFile], { encoding: 'utf8' }).trim();
const server = createServer((_request, response) => createReadStream(imageFile).pipe(response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.zst`;

const { signal } = new AbortController();
const privateKey = new SecretString(readFileSync(keyFile, 'utf8'));
const access = { address: '127.0.0.1', port: 2222, hostKey: undefined, privateKey };
const rescue = await openRescue(access, { signal, seconds: 20 });

async function write(operation: string): Promise<void> {
  for (;;) {
    const job = await rescue.write(
      operation,
      { serial: 'SERIAL0', wwn: 'eui.0000000000000000' },
      { url, compression: 'zst' },
    );
    if (job.kind === 'failed') throw new Error(job.message);
    if (job.kind === 'done') return;
    await pause(100);
  }
}

/** The usual pipe, including the final flush to the disk (fsync). */
const pipeImage = (flags: string): Promise<unknown> =>
  run('bash', [
    '-c',
    `curl -fsS "$1" | zstdcat | dd of="$2" bs=4M iflag=fullblock conv=nocreat,notrunc,fsync ${flags}`,
    'bash',
    url,
    device,
  ]);
/** Syncs first, so that the writes of one measurement do not slow down the next. */
const measureAfterSync = async (work: () => Promise<unknown>): Promise<number> => {
  await run('sync');
  return Math.round(await elapsedMs(work)) / 1000;
};

const results: ImageWriteTimes[] = [];
for (let turn = 0; turn <= Number(turns); turn += 1) {
  const plain = await measureAfterSync(() => pipeImage(''));
  const direct = await measureAfterSync(() => pipeImage('oflag=direct'));
  const ours = await measureAfterSync(() => write(`turn-${turn}`));
  // The first round is not counted: the file behind the disk grows.
  if (turn > 0) results.push({ ours, plain, direct });
}
rescue.close();
server.close();
process.stdout.write(`${JSON.stringify(results)}\n`);
process.exit(0);
