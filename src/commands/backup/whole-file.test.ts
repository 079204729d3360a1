import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ContentProducer } from '../../backup/encrypt.ts';
import { ProviderError } from '../../lib/errors.ts';
import { writeEncryptedFile } from './whole-file.ts';

const recipients = [await identityToRecipient(await generateIdentity())];
const { signal } = new AbortController();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'whole-file-'));
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

const write = (path: string, produce: ContentProducer) =>
  writeEncryptedFile({ path, flag: '--output-folder', recipients, signal }, produce);

it.each([
  ['of the node', new ProviderError('TALOS_UNREACHABLE', '10.0.0.2 (ECONNRESET).')],
  ['of a connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })],
])('a file whose content fails with an error %s fails with that one, and nothing is left of it', async (_, problem) => {
  const failed = write(join(folder, 'file'), async (piece) => {
    await piece(Buffer.alloc(200_000));
    throw problem;
  });
  await expect(failed).rejects.toBe(problem);
  expect(await readdir(folder)).toEqual([]);
});

it('a file that cannot be written is reported as such, whatever its content ends with then', async () => {
  const failed = write(join(folder, 'none', 'file'), async (piece) => {
    try {
      for (;;) await piece(Buffer.alloc(200_000));
    } catch {
      throw new ProviderError('TALOS_CALL_FAILED', 'the stream was stopped.');
    }
  });
  await expect(failed).rejects.toMatchObject({
    code: 'OUTPUT_REJECTED',
    message: expect.stringContaining('(ENOENT). Use another path.'),
  });
});
