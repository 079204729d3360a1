import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import {
  describeVerdict,
  installationWithServers,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const numbers = Array.from({ length: 5 }, (_, index) => 3140951 + index);
const unusedNumbers = [...numbers];
const nextNumber = (): number => unusedNumbers.shift() ?? Number.NaN;

let fixture: RobotPlatformFixture;
beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.42.48',
    images: { checksums: true },
    limits: { 'POST /reset': 500 },
    servers: numbers.map((number) => ({ number, disks: [{ serial: 'ROOT1' }] })),
  });
});
afterAll(async () => await fixture?.close());
afterEach(() => fixture.switchboard.clear());

/** Returns the result; `errors` receives the codes of all retried errors. */
async function provision(number: number, errors: unknown[] = []) {
  const durable: MachineRecord = { progress: undefined };
  const watch = (verdict: AdvanceResult): boolean => {
    if (verdict.kind === 'error' && verdict.error instanceof ProviderError) errors.push(verdict.error.code);
    return false;
  };
  const process = fixture.start(installationWithServers([number]));
  const words = describeVerdict(await process.walk('provision', `sum-${number}`, durable, watch, 'image-written'));
  return { words, facts: durable.progress?.facts ?? {} };
}

const checksums = () => fixture.switchboard.calls.filter(({ name }) => /^GET .*\.raw\.zst\.sha256$/.test(name)).length;
/** Writes of the image, without the zeros that blank disks. */
const written = (number: number) => fixture.simulator.writes(number).filter(({ by }) => by === 'dd');

describe('the checksum that the factory promises', () => {
  it('is compared with the image, and is requested once', async () => {
    const before = checksums();
    const { words, facts } = await provision(nextNumber());
    expect(words).toBe('finished');
    expect(facts).toMatchObject({ checkedBy: 'checksum', imageSha256: facts['compressedSha256'] });
    expect(checksums() - before).toBe(1);
  });

  it('keeps another image off the disk', async () => {
    const number = nextNumber();
    const other = createHash('sha256').update('another image').digest('hex');
    fixture.switchboard.fail('image-factory', /\.raw\.zst\.sha256$/, {
      ...{ kind: 'error', status: 200, body: `${other}  metal-amd64.raw.zst\n` },
    });
    const { words } = await provision(number);
    expect(words).toMatch(new RegExp(`^RESCUE_IMAGE_WRONG: .*not ${other}`));
    expect(written(number).filter(({ length }) => length > 2 ** 20)).toEqual([]);
  });

  it('is waited for while the factory fails', async () => {
    const errors: unknown[] = [];
    fixture.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status: 503, body: 'busy' }, 2);
    const { words, facts } = await provision(nextNumber(), errors);
    expect([words, errors, facts['checkedBy']]).toEqual(['finished', ['FACTORY_FAILED', 'FACTORY_FAILED'], 'checksum']);
  });

  it('is omitted where the factory promises none, which is recorded', async () => {
    fixture.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status: 402, body: 'enterprise only' });
    const { words, facts } = await provision(nextNumber());
    expect([words, facts['imageSha256'], facts['checkedBy']]).toEqual(['finished', '', 'structure']);
  });
});
