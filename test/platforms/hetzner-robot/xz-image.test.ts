import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { encodeXz } from '../../world/compression/xz/encode.ts';
import { encodeZstd } from '../../world/compression/zstd/encode.ts';
import { makeRawImage } from '../../world/robot/rescue/test-raw-image.ts';
import {
  describeVerdict,
  installationWithServers,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const numbers = Array.from({ length: 8 }, (_, index) => 3140901 + index);
const unusedNumbers = [...numbers];
const nextNumber = (): number => unusedNumbers.shift() ?? Number.NaN;

let fixture: RobotPlatformFixture;
beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.42.51',
    limits: { 'POST /reset': 500 },
    servers: numbers.map((number) => ({ number, disks: [{ serial: 'ROOT1' }] })),
  });
  fixture.config = { ...fixture.config, image: { compression: 'xz' } };
});
afterAll(async () => await fixture?.close());
afterEach(() => fixture.switchboard.clear());

/** Returns the result; `errors` receives the codes of all retried errors. */
async function provision(number: number, errors: unknown[] = []): Promise<string> {
  const durable: MachineRecord = { progress: undefined };
  const watch = (verdict: AdvanceResult): boolean => {
    if (verdict.kind === 'error' && verdict.error instanceof ProviderError) errors.push(verdict.error.code);
    return false;
  };
  return describeVerdict(
    await fixture.start(installationWithServers([number])).walk('provision', `xz-${number}`, durable, watch),
  );
}

const phaseOf = (number: number) => fixture.simulator.servers().find((server) => server.number === number)?.phase;
const imageRequests = () =>
  fixture.switchboard.calls.map(({ name }) => name).filter((name) => /^GET .*\.raw\.\w+$/.test(name));
const serveInsteadOfImage = (body: Buffer): void =>
  fixture.switchboard.fail('image-factory', /^GET .*raw\.xz$/, { kind: 'error', status: 200, body });

describe('H23: an image in xz', () => {
  /** As the factory sends it. */
  let image: Buffer;

  it('becomes Talos, and no other image is requested', async () => {
    const number = nextNumber();
    expect([await provision(number), phaseOf(number)]).toEqual(['finished', 'talos']);
    const [name = ''] = imageRequests();
    expect(imageRequests().filter((one) => !one.endsWith('.raw.xz'))).toEqual([]);
    image = Buffer.from(
      await (await fetch(new URL(name.replace(/^GET /, ''), fixture.factory.line.url))).arrayBuffer(),
    );
  });

  it('is compared with the checksum that users have pinned, of the transferred bytes', async () => {
    const number = nextNumber();
    const sha256 = createHash('sha256').update(image).digest('hex');
    const { config } = fixture;
    fixture.config = { ...config, image: { compression: 'xz', sha256 } };
    expect(await provision(number)).toBe('finished');
    fixture.config = config;
  });

  it.each([0.5, -1])('that ends too early (%d) is downloaded again', async (place) => {
    const number = nextNumber();
    serveInsteadOfImage(image.subarray(0, place > 0 ? image.length * place : place));
    const errors: unknown[] = [];
    expect([await provision(number, errors), phaseOf(number)]).toEqual(['finished', 'talos']);
    expect(errors).toContain('RESCUE_IMAGE_TRUNCATED');
  });

  it.each([
    ['has one wrong byte', () => Buffer.from(image).fill(1, 5_000_000, 5_000_001), /xz: .*Compressed data is corrupt/],
    ['is one in zstd', () => encodeZstd(makeRawImage(8)), /xz: .*File format not recognized/],
    ['is another file', () => encodeXz(Buffer.alloc(8 * 2 ** 20, 'x')), /partition table/],
  ])('that %s never starts', async (_what, make, reason) => {
    const number = nextNumber();
    serveInsteadOfImage(make());
    const words = await provision(number);
    expect(words).toMatch(/^RESCUE_IMAGE_WRONG: /);
    expect(words).toMatch(reason);
    expect(phaseOf(number)).toBe('rescue');
  });
});
