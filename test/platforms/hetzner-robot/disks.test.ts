import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import type { HostSpecView } from '../../../src/engine/host.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { encodeZstd } from '../../world/compression/zstd/encode.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import { makeRawImage } from '../../world/robot/rescue/test-raw-image.ts';
import {
  describeVerdict,
  installationWithServers,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const plain = Array.from({ length: 24 }, (_, index) => 3140701 + index);
const stale = 3140730;
const rootOf = (number: number): string => `ROOT${number}`;
const otherDiskOf = (number: number): string => `KEEP${number}`;
const unusedNumbers = [...plain];
const nextNumber = (): number => unusedNumbers.shift() ?? Number.NaN;

let fixture: RobotPlatformFixture;
/** The image as the factory sends it. */
let image: Buffer;
beforeAll(async () => {
  const kept = (number: number) => ({ serial: otherDiskOf(number), content: { kind: 'ext4' } });
  const servers = [
    ...plain.map((number) => ({ number, disks: [{ serial: rootOf(number) }, kept(number)] })),
    {
      number: stale,
      disks: [
        { serial: rootOf(stale) },
        {
          serial: 'STALE1',
          sizeBytes: 2_000_000_000_000,
          content: { kind: 'talos', version: '1.12.4', configured: true },
        },
        kept(stale),
      ],
    },
  ];
  fixture = await openRobotPlatformFixture({ network: '127.42.157', limits: { 'POST /reset': 500 }, servers });
});
afterAll(async () => await fixture?.close());

afterEach(() => {
  fixture.switchboard.clear();
  fixture.config = { ...fixture.config, image: {} };
});

interface ProvisionRun {
  readonly number: number;
  readonly durable: MachineRecord;
  readonly words: string;
  /** Each failed attempt: a code and a sentence. */
  readonly troubles: readonly string[];
}

async function provision(number: number, desiredSpecs: Partial<HostSpecView> = {}): Promise<ProvisionRun> {
  const process = fixture.start(
    installationWithServers([number], { protectedDisks: [otherDiskOf(number)], ...desiredSpecs }),
  );
  const durable: MachineRecord = { progress: undefined };
  const problems: string[] = [];
  const listen = (verdict: AdvanceResult): boolean => {
    if (verdict.kind === 'error' && verdict.error instanceof ProviderError)
      problems.push(`${verdict.error.code}: ${verdict.error.message}`);
    return false;
  };
  const words = describeVerdict(await process.walk('provision', `disk-${number}`, durable, listen));
  return { number, durable, words, troubles: problems };
}

/** Serial numbers of all disks with writes. */
const touched = (number: number): readonly string[] => [
  ...new Set(fixture.simulator.writes(number).map(({ serial }) => serial)),
];
const phaseOf = (number: number) => fixture.simulator.servers().find((server) => server.number === number)?.phase;
const disksOf = (number: number) => fixture.simulator.server(number).machine.box.hardware.disks;
/** Whether the partition table of the chosen disk is blank: no firmware boots from it. */
function isBlank(number: number): boolean {
  const disk = disksOf(number).find(({ serial }) => serial === rootOf(number));
  const head = Buffer.alloc(2 ** 20, 1);
  const file = openSync(disk?.path ?? '', 'r');
  readSync(file, head, 0, head.length, 0);
  closeSync(file);
  return head.equals(Buffer.alloc(head.length));
}

/** Runs `mischief` right before the first command with this text arrives. */
function beforeCommand(number: number, words: RegExp, mischief: () => void): void {
  const hush = fixture.switchboard.judge(({ name, detail }, content) => {
    const isOf = (detail as { server?: number })?.server === number;
    if (isOf && name.startsWith('ssh') && words.test(String(content))) {
      hush();
      mischief();
    }
    return undefined;
  });
}

/** The content that the factory sends in place of the image, so many times. */
const serveInsteadOfImage = (body: Buffer, times = 1): void =>
  fixture.switchboard.fail('image-factory', /^GET .*raw\.zst$/, { kind: 'error', status: 200, body }, times);

describe('between inspection and the first write', () => {
  it('disks change their names: only the chosen one is written to', async () => {
    const number = nextNumber();
    beforeCommand(number, /wipe-/, () => {
      const [one, two] = disksOf(number);
      if (one && two) [one.name, two.name] = [two.name, one.name];
    });
    expect((await provision(number)).words).toBe('finished');
    expect([phaseOf(number), touched(number)]).toEqual(['talos', [rootOf(number)]]);
  });

  it.each([
    ['wiped', /wipe-/],
    ['written to', /write-/],
  ])('the disk to be %s is exchanged: the new one in its place is not touched', async (_what, words) => {
    const number = nextNumber();
    beforeCommand(number, words, () => {
      const [disk] = disksOf(number);
      if (disk) Object.assign(disk, { serial: 'ANOTHER', wwn: 'eui.00000000000000aa' });
    });
    const run = await provision(number);
    expect(run.words).toMatch(/^RESCUE_DISK_CHANGED: .*ROOT/);
    expect(touched(number)).toEqual(/wipe/.test(words.source) ? [] : [rootOf(number)]);
  });
});

describe('an image', () => {
  beforeAll(async () => {
    const { words } = await provision(nextNumber());
    expect(words).toBe('finished');
    const { name = '' } = fixture.switchboard.calls.find((call) => /^GET .*raw\.zst$/.test(call.name)) ?? {};
    const reply = await fetch(new URL(name.replace(/^GET /, ''), fixture.factory.line.url));
    image = Buffer.from(await reply.arrayBuffer());
  });

  it.each([0, 1000, 0.5, -1])('that ends too early (%d) is downloaded again', async (place) => {
    const number = nextNumber();
    const end = Math.abs(place) < 1 && place !== 0 ? Math.floor(image.length * place) : place;
    serveInsteadOfImage(image.subarray(0, end));
    const run = await provision(number);
    expect([run.words, phaseOf(number), touched(number)]).toEqual(['finished', 'talos', [rootOf(number)]]);
  });

  it.each([
    ['whose connection is cut off', 'RESCUE_IMAGE_TRUNCATED', {}],
    ['whose connection hangs', 'RESCUE_IMAGE_UNREACHABLE', { milliseconds: 60_000 }],
  ])('%s in the middle is downloaded again, and %s is reported', async (_what, code, stall) => {
    const number = nextNumber();
    const cut: Fault = { kind: 'cut', of: 'answer', bytes: Math.floor(image.length / 2), ...stall };
    fixture.switchboard.fail('image-factory', /^GET .*raw\.zst$/, cut);
    const run = await provision(number);
    expect([run.words, phaseOf(number), touched(number)]).toEqual(['finished', 'talos', [rootOf(number)]]);
    expect(run.troubles).toContainEqual(expect.stringMatching(new RegExp(`^${code}: `)));
  });

  it.each([
    ['is a page of a proxy', () => Buffer.from('<html>Please log in</html>'.repeat(100)), /zstd/],
    ['is another file', () => encodeZstd(Buffer.alloc(8 * 2 ** 20, 'x')), /partition table/],
    ['lacks META', () => encodeZstd(makeRawImage(20, ['EFI', 'BIOS', 'BOOT'])), /META/],
    ['was in use', () => encodeZstd(makeRawImage(20, ['EFI', 'BIOS', 'BOOT', 'META', 'STATE'])), /STATE/],
  ])('that %s never starts', async (_what, make, reason) => {
    const number = nextNumber();
    serveInsteadOfImage(make());
    const run = await provision(number);
    expect(run.words).toMatch(/^RESCUE_IMAGE_WRONG: /);
    expect(run.words).toMatch(reason);
    expect([touched(number), isBlank(number)]).toEqual([[rootOf(number)], true]);
  });

  it('is compared with the checksum that users have pinned', async () => {
    const [right, wrong] = [nextNumber(), nextNumber()];
    const sha256 = createHash('sha256').update(image).digest('hex');
    fixture.config = { ...fixture.config, image: { sha256: 'a'.repeat(64) } };
    expect((await provision(wrong)).words).toMatch(/^RESCUE_IMAGE_WRONG: .*SHA-256/);
    expect([touched(wrong), isBlank(wrong)]).toEqual([[rootOf(wrong)], true]);
    fixture.config = { ...fixture.config, image: { sha256 } };
    expect((await provision(right)).words).toBe('finished');
  });
});

it('a network failure in the middle of the work does not end it', async () => {
  const number = nextNumber();
  let cuts = 0;
  const hush = fixture.switchboard.judge(({ name, detail }, content) => {
    const isOf = (detail as { server?: number })?.server === number && name.startsWith('ssh');
    if (!isOf || !/wipe-|write-/.test(String(content)) || cuts >= 6) return undefined;
    cuts += 1;
    return { kind: cuts % 2 === 0 ? 'drop' : 'lose-reply' };
  });
  expect((await provision(number)).words).toBe('finished');
  hush();
  expect([cuts, phaseOf(number), touched(number)]).toEqual([6, 'talos', [rootOf(number)]]);
});

it('an earlier Talos on another disk is erased, too, where that is allowed', async () => {
  const run = await provision(stale, { wipe: true });
  expect([run.words, phaseOf(stale)]).toEqual(['finished', 'talos']);
  expect([...touched(stale)].sort()).toEqual([rootOf(stale), 'STALE1'].sort());
});
