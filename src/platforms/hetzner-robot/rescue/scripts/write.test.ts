import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createKubeAuthority } from '../../../../../test/world/kube/auth/certificates.ts';
import {
  createRescueFixture,
  type RescueFixture,
  type RescueFixtureOptions,
} from '../../../../../test/world/robot/rescue/rescue-fixture.ts';
import { makeRawImage, type ServedImage, serveImage } from '../../../../../test/world/robot/rescue/test-raw-image.ts';
import { type ImageSource, parseRescueJob, type RescueJob, writeCommand } from '../job.ts';

// Each test simulates a whole operating system.
vi.setConfig({ testTimeout: 30_000 });

/** More blocks than are processed at once; the last one is short. */
const raw = makeRawImage(29);
let image: ServedImage;
const closers: (() => void)[] = [];
beforeAll(async () => {
  image = await serveImage(raw);
});
afterAll(() => image.close());
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function open(options: RescueFixtureOptions = {}): RescueFixture {
  // The minute after which a download counts as too slow must be longer than a busy machine pauses.
  const box = createRescueFixture({ diskBytes: 2 ** 28, ramDiskMiB: 40, timeScale: 0.05, ...options });
  closers.push(box.close);
  return box;
}

async function serve(...args: Parameters<typeof serveImage>): Promise<ServedImage> {
  const served = await serveImage(...args);
  closers.push(served.close);
  return served;
}

const disk = { serial: 'EX9600000001', wwn: 'eui.00a1b2c3d4e5f601' };
const source = (change: Partial<ImageSource> = {}): ImageSource => ({ url: image.url, compression: 'zst', ...change });

async function look(box: RescueFixture, given: ImageSource, operation = 'one'): Promise<RescueJob> {
  const { line, input } = writeCommand(operation, disk, given);
  const { stdout, stderr, status } = await box.sh(line, input);
  expect([stderr, status]).toEqual(['', 0]);
  return parseRescueJob(stdout);
}

async function write(box: RescueFixture, given: ImageSource, operation?: string): Promise<RescueJob> {
  for (;;) {
    const job = await look(box, given, operation);
    if (job.kind !== 'running') return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const read = (box: RescueFixture, mebibytes: number) =>
  box
    .run(['sh', '-c', `dd if=/dev/nvme0n1 bs=1M count=${mebibytes} status=none | sha256sum`])
    .then(({ stdout }) => stdout);
const written = (box: RescueFixture) => new Set(box.ledger.map(({ serial }) => serial));

describe('an image', () => {
  it('H23, P26: is on the disk, byte by byte, and on no other', async () => {
    const box = open();
    const job = await write(box, source({ sha256: image.sha256 }));
    expect(job).toEqual({
      kind: 'done',
      facts: { bytes: raw.length, compressedSha256: image.sha256, checkedBy: 'checksum' },
    });
    const { stdout } = await box.sh('sha256sum', raw);
    expect(await read(box, 29)).toBe(stdout);
    expect(written(box)).toEqual(new Set([disk.serial]));
    // No copy is left in RAM.
    expect(Number((await box.sh('df | tail -n 1 | tr -s " " | cut -d" " -f3')).stdout)).toBeLessThan(1024);
  });

  it('without a checksum is checked by its structure, and this is reported', async () => {
    expect(await write(open(), source())).toMatchObject({ kind: 'done', facts: { checkedBy: 'structure' } });
  });

  it('gets its first block last: a partition table appears only when all else is written', async () => {
    const box = open();
    await write(box, source());
    const heads = box.ledger.filter(({ offset }) => offset === 0);
    expect(heads.map((one) => [box.ledger.indexOf(one), one.length])).toEqual([
      [0, 2 ** 20],
      [box.ledger.length - 1, 2 ** 20],
    ]);
  });

  it('is written once, however often it is requested at the same time', async () => {
    const box = open();
    const all = await Promise.all([1, 2, 3, 4].map(() => write(box, source())));
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(['done']));
    const sent = () => box.ledger.map(({ by, length }) => (by === 'dd' ? length : 0)).reduce((sum, n) => sum + n);
    const once = sent();
    expect(once).toBeLessThan(raw.length);
    await write(box, source());
    expect(sent()).toBe(once);
  });
});

const cutAt = (part: number) => (response: ServerResponse, packed: Buffer) => {
  response.setHeader('content-length', packed.length);
  response.write(packed.subarray(0, packed.length * part), () => setTimeout(() => response.destroy(), 5));
};

describe('a wrong image never boots', () => {
  const few = makeRawImage(4);
  const cases: readonly [string, () => Promise<ServedImage>, string, RegExp][] = [
    ['cut off on its way', () => serve(raw, { send: cutAt(0.6) }), 'RESCUE_IMAGE_TRUNCATED', /18|closed|remaining/],
    [
      'cut off within the first MiB',
      () => serve(raw, { send: cutAt(0.01) }),
      'RESCUE_IMAGE_TRUNCATED',
      /closed|remaining/,
    ],
    [
      'cut off before it was put there',
      async () => serve(raw, { packed: image.packed.subarray(0, 5_000_000) }),
      'RESCUE_IMAGE_TRUNCATED',
      /./,
    ],
    [
      'shorter than its table says',
      () => serve(raw.subarray(0, 16 * 2 ** 20)),
      'RESCUE_IMAGE_TRUNCATED',
      /16777216; by its partition table it has 30408704/,
    ],
    [
      'not to be had',
      () => serve(raw, { send: (response) => void response.writeHead(404).end() }),
      'RESCUE_IMAGE_UNREACHABLE',
      /404/,
    ],
    [
      'a page of a proxy',
      () => serve(raw, { packed: Buffer.from('<html>'.repeat(100)) }),
      'RESCUE_IMAGE_WRONG',
      /zstd: /,
    ],
    ['nothing at all', () => serve(raw, { packed: Buffer.alloc(0) }), 'RESCUE_IMAGE_', /./],
    ['no disk image', () => serve(Buffer.alloc(2 ** 22, 'x')), 'RESCUE_IMAGE_WRONG', /partition table/],
    ['of another system', () => serve(makeRawImage(20, ['EFI', 'root'])), 'RESCUE_IMAGE_WRONG', /no partition BIOS/],
    [
      'of a system that was in use',
      () => serve(makeRawImage(20, ['EFI', 'BIOS', 'BOOT', 'META', 'STATE'])),
      'RESCUE_IMAGE_WRONG',
      /STATE/,
    ],
    ['a little too long', () => serve(Buffer.concat([few, Buffer.alloc(100)])), 'RESCUE_IMAGE_WRONG', /whole sector/],
  ];
  it.each(cases)('%s', async (_what, make, code, message) => {
    const box = open();
    const served = await make();
    const job = await write(box, source({ url: served.url }));
    expect(job).toMatchObject({
      kind: 'failed',
      code: expect.stringContaining(code),
      message: expect.stringMatching(message),
    });
    expect((await box.sh('blockdev --rereadpt /dev/nvme0n1; lsblk -nro NAME /dev/nvme0n1')).stdout).toBe('nvme0n1\n');
    expect([...written(box)].filter((serial) => serial !== disk.serial)).toEqual([]);
  });

  it('another image than that of the checksum', async () => {
    const box = open();
    const job = await write(box, source({ sha256: '0'.repeat(64) }));
    expect(job).toMatchObject({
      kind: 'failed',
      code: 'RESCUE_IMAGE_WRONG',
      message: expect.stringContaining(image.sha256),
    });
    expect((await box.sh('blkid -p /dev/nvme0n1')).status).toBe(2);
  });

  it('an image from a server that does not answer', async () => {
    const gone = await serve(raw);
    gone.close();
    expect(await write(open(), source({ url: gone.url }))).toMatchObject({
      kind: 'failed',
      code: 'RESCUE_IMAGE_UNREACHABLE',
    });
  });
});

it('P26: a rescue system with too little memory reports it, and leaves the disk unchanged', async () => {
  const box = open({ ramDiskMiB: 10 });
  const message = expect.stringMatching(/too little memory.*No space left on device/);
  expect(await write(box, source())).toEqual({ kind: 'failed', code: 'RESCUE_COMMAND_FAILED', message });
  expect(box.ledger).toEqual([]);
});

describe('an image over TLS', () => {
  /** A server that redirects to `location`, and the CA that the rescue system trusts. */
  async function redirect(location: string): Promise<{ readonly url: string; readonly ca: string }> {
    const authority = await createKubeAuthority('image-ca');
    const { cert, key } = await authority.issueServer(['127.0.0.1']);
    const server = createServer({ cert, key }, (_, response) => response.writeHead(302, { location }).end());
    closers.push(() => {
      server.close();
      server.closeAllConnections();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/image`, ca: authority.cert };
  }

  it('is not fetched over http, whatever a redirect names', async () => {
    const box = open();
    const forgedServer = await serve(raw);
    const { url, ca } = await redirect(forgedServer.url);
    await box.sh('cat >/tmp/ca.pem', ca);
    const { line, input } = writeCommand('one', disk, source({ url, sha256: forgedServer.sha256 }));
    let job: RescueJob;
    do {
      job = parseRescueJob((await box.sh(`export CURL_CA_BUNDLE=/tmp/ca.pem; ${line}`, input)).stdout);
      await new Promise((resolve) => setTimeout(resolve, 5));
    } while (job.kind === 'running');
    expect(job).toMatchObject({
      ...{ kind: 'failed', code: 'RESCUE_IMAGE_UNREACHABLE' },
      message: expect.stringMatching(/Protocol "http" not supported or disabled/),
    });
    expect([forgedServer.requests(), box.ledger]).toEqual([0, []]);
  });
});

describe('an unsuitable disk is left unchanged', () => {
  it.each([
    ['smaller than the image', { diskBytes: 28 * 2 ** 20 }, 'RESCUE_DISK_TOO_SMALL'],
    ['of 4 KiB sectors', { sectorBytes: 4096 as const }, 'RESCUE_DISK_UNSUITABLE'],
    ['part of an array', { disks: { nvme0n1: { kind: 'raid-member', array: '0' } as const } }, 'RESCUE_DISK_BUSY'],
    ['part of a volume group', { disks: { nvme0n1: { kind: 'lvm', group: 'data' } as const } }, 'RESCUE_DISK_BUSY'],
    ['another one', { disks: { sda: { kind: 'blank' } as const }, timeScale: 0 }, 'RESCUE_DISK_CHANGED'],
  ])('%s', async (_what, options, code) => {
    const box = open(options);
    expect(await write(box, source())).toMatchObject({ kind: 'failed', code });
    expect(box.ledger).toEqual([]);
  });

  it('a drive that reports zeroing without doing it is sent the zeros', async () => {
    const box = open();
    const [access] = box.system.storage.disks;
    Object.assign(access ?? {}, { discard: () => undefined });
    access?.write(0, Buffer.alloc(raw.length, 'x'), 'before');
    expect(await write(box, source())).toMatchObject({ kind: 'done' });
    expect(await read(box, 29)).toContain(createHash('sha256').update(raw).digest('hex'));
  });

  it('B1: a drive that does not keep what was written', async () => {
    const box = open();
    const [access] = box.system.storage.disks;
    const originalWrite = access?.write;
    Object.assign(access ?? {}, {
      write: (offset: number, bytes: Buffer, by: string) => {
        const at = 8 * 2 ** 20 - offset;
        if (at >= 0 && at < bytes.length) bytes = Buffer.from(bytes).fill((bytes[at] ?? 0) ^ 1, at, at + 1);
        originalWrite?.(offset, bytes, by);
      },
    });
    const job = await write(box, source());
    expect(job).toMatchObject({
      kind: 'failed',
      code: 'RESCUE_WRITE_DIFFERS',
      message: expect.stringContaining('from byte 7340032 on: back.2 image differ: byte 1048577,'),
    });
    expect((await box.sh('blkid -p /dev/nvme0n1')).status).toBe(2);
  });
});

it('a failure is reported once, and the next call starts again', async () => {
  const box = open();
  let requests = 0;
  const served = await serve(raw, {
    send: (response, packed) => {
      requests += 1;
      if (requests === 1) response.writeHead(503).end();
      else response.end(packed);
    },
  });
  const given = source({ url: served.url });
  expect(await write(box, given)).toMatchObject({ kind: 'failed', code: 'RESCUE_IMAGE_UNREACHABLE' });
  expect(await write(box, given)).toMatchObject({ kind: 'done' });
});

describe('a job that ended without a result', () => {
  const given = { url: 'http://127.0.0.1:1/', compression: 'zst' } as const;
  const folder = writeCommand('one', disk, given);

  it('is started again', async () => {
    const box = open();
    const { line } = writeCommand('one', disk, source());
    const [path = ''] = /\/run\/cluster-provider-talos\/[-\w]+/.exec(line) ?? [];
    await box.sh(
      `mkdir -p ${path}; echo >${path}/starts; echo 'doing x' >${path}/doing; head -c 100 /dev/urandom >${path}/piece.0`,
    );
    expect(await write(box, source())).toMatchObject({ kind: 'done' });
  });

  it('three times at most, until the failure was reported', async () => {
    const box = open();
    const [path = ''] = /\/run\/cluster-provider-talos\/[-\w]+/.exec(folder.line) ?? [];
    await box.sh(`mkdir -p ${path}; printf '\\n\\n\\n' >${path}/starts`);
    expect(await look(box, given)).toMatchObject({ kind: 'failed', code: 'RESCUE_COMMAND_FAILED' });
    expect(box.ledger).toEqual([]);
    expect(await look(box, given)).toMatchObject({ kind: 'running' });
  });

  it('because its script was incomplete was never run', async () => {
    const box = open();
    const { line, input = '' } = writeCommand('one', disk, source());
    expect((await box.sh(line, input.slice(0, 4000))).status).toBe(1);
    expect(box.ledger).toEqual([]);
    expect(await write(box, source())).toMatchObject({ kind: 'done' });
  });

  it('reports its last output', async () => {
    const box = open();
    const job = await write(box, source({ compression: 'xz' }));
    expect(job).toMatchObject({
      kind: 'failed',
      code: 'RESCUE_IMAGE_WRONG',
      message: expect.stringContaining('not recognized'),
    });
  });
});
