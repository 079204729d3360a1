/**
 * Runs our commands in a rescue system of real tools, and prints their results as one line of JSON; arguments: the file
 * of the private key, and the raw image. Runs beside that system, in its network.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { openRescue } from '../../../../src/platforms/hetzner-robot/rescue/connect.ts';
import type { RescueJob } from '../../../../src/platforms/hetzner-robot/rescue/job.ts';
import { rescueMismatch } from '../../../../src/platforms/hetzner-robot/rescue/rescue-client.ts';
import { eventually } from '../../../support/eventually.ts';
import { makeRawImage, serveImage } from '../../../world/robot/rescue/test-raw-image.ts';

const [keyFile = '', imageFile = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const access = {
  ...{ address: '127.0.0.1', port: 2222, hostKey: undefined },
  privateKey: new SecretString(readFileSync(keyFile, 'utf8')),
};
const open = () => openRescue(access, { signal, seconds: 20 });
const awaitJob = (what: string, look: () => Promise<RescueJob>) =>
  eventually(
    what,
    async () => {
      const job = await look();
      return job.kind !== 'running' && job;
    },
    60,
  );
const disk = (number: number) => ({ serial: `SERIAL${number}`, wwn: `eui.000000000000000${number}` });

const served = await serveImage(readFileSync(imageFile));
const image = { url: served.url, compression: 'zst', sha256: served.sha256 } as const;
const first = await open();
const identity = await first.identify();
const before = (await first.inspect()).disks.map(({ holds }) => holds);
const wiped = await awaitJob('the wipe', () => first.wipe('one', [0, 1, 2, 4, 5, 6].map(disk)));
const clean = (await first.inspect()).disks.map(({ holds }) => holds);
const wrong = await awaitJob('the wrong checksum', () =>
  first.write('no', disk(0), { ...image, sha256: '0'.repeat(64) }),
);
const still = (await first.inspect()).disks[0]?.holds;
await first.write('one', disk(0), image);
// The session that began it closes at once.
first.close();
const second = await openRescue({ ...access, hostKey: first.hostKey }, { signal, seconds: 20 });
const written = await awaitJob('the image', () => second.write('one', disk(0), image));
const after = (await second.inspect()).disks.map(({ holds }) => holds);
const raw = makeRawImage(24);
// In several blocks, as multi-threaded compression makes them.
const packed = execFileSync('xz', ['-c', '-0', '-T2'], { input: raw, maxBuffer: 2 ** 26 });
const servedXz = await serveImage(raw, { packed });
const xzImage = { url: servedXz.url, compression: 'xz', sha256: servedXz.sha256 } as const;
const xz = await awaitJob('the image in xz', () => second.write('two', disk(1), xzImage));
const cut = await serveImage(raw, { packed: packed.subarray(0, -100) });
const xzCut = await awaitJob('the one that is cut', () => second.write('cut', disk(2), { ...xzImage, url: cut.url }));
const corrupted = await serveImage(raw, { packed: Buffer.from(packed).fill(1, 2 ** 20, 2 ** 20 + 4) });
const xzWrong = await awaitJob('the wrong one', () =>
  second.write('wrong', disk(2), { ...xzImage, url: corrupted.url }),
);
const health = (await second.inspect()).disks.map((one) => one.health);
const order = await second.bootOrder();
await second.reboot();
second.close();
for (const one of [served, servedXz, cut, corrupted]) one.close();
const rawSha256 = createHash('sha256').update(raw).digest('hex');
const about = { notRescue: rescueMismatch(identity, {}), identity, sha256: served.sha256 };
const inXz = { rawSha256, sha256: servedXz.sha256, written: xz, cut: xzCut, wrong: xzWrong };
const seen = { ...about, before, wiped, clean, wrong, still, written, after, inXz, health, order };
process.stdout.write(`${JSON.stringify(seen)}\n`);
process.exit(0);
