import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { missingPeers } from '../../test/peers/find-peer.ts';
import { type S3Server, startVersitygw } from '../../test/peers/versitygw.ts';
import { describeUnlessMissing } from '../../test/support/describe-unless-missing.ts';
import { readBounded } from '../lib/bounded-read.ts';
import { SecretString } from '../lib/secret-string.ts';
import { BackupStorage, type StorageAccess } from './backup-storage.ts';
import { type ContentProducer, encryptContent } from './encrypt.ts';

describeUnlessMissing('a bucket of a real S3 server', missingPeers('versitygw'), () => {
  let folder: string;
  let server: S3Server;
  let storage: BackupStorage;
  let identity: string;
  let recipients: string[];
  /** The waits between attempts do not matter here. */
  const clock = { sleep: async () => {} };
  const open = (more: Partial<StorageAccess> = {}) =>
    new BackupStorage(
      {
        ...server,
        ...{ region: 'us-east-1', credentials: 'keys', caBundle: server.ca },
        accessKeyId: new SecretString(server.accessKeyId),
        secretAccessKey: new SecretString(server.secretAccessKey),
        ...more,
      },
      { clock, signal: new AbortController().signal },
    );
  const upload = async (key: string, produce: ContentProducer) =>
    await storage.upload(key, await encryptContent(recipients, produce));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 's3-'));
    server = await startVersitygw('127.0.0.1', folder);
    identity = await generateIdentity();
    recipients = [await identityToRecipient(identity)];
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    storage = open();
  });
  afterEach(async () => await storage.close());

  it('holds what was written while it was produced, in several parts', async () => {
    const piece = randomBytes(1024 * 1024);
    const pieces = 20;
    const clear = createHash('sha256');
    const { bytes, sha256 } = await upload('a/large', async (write) => {
      for (let i = 0; i < pieces; i++) {
        clear.update(piece);
        await write(piece);
      }
    });
    const stored = await readFile(join(server.folder, 'a/large'));
    expect(stored.length).toBe(bytes);
    expect(createHash('sha256').update(stored).digest('hex')).toBe(sha256);
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const content = await decrypter.decrypt(new Uint8Array(stored));
    expect(createHash('sha256').update(content).digest('hex')).toBe(clear.digest('hex'));
    expect(await server.unfinishedUploads()).toBe(0);
  });

  it('takes what is much larger than the memory that it uses', async () => {
    const piece = randomBytes(64 * 1024);
    const [pieces, limit] = [1024, 48 * 1024 * 1024];
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const { bytes } = await upload('a/huge', async (write) => {
      for (let i = 0; i < pieces; i++) {
        await write(piece);
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    });
    expect(bytes).toBeGreaterThan(pieces * piece.length);
    expect(most).toBeLessThan(limit);
  });

  it('holds nothing of what its producer has refused at the end', async () => {
    const refused = upload('a/refused', async (write) => {
      await write(randomBytes(9 * 1024 * 1024));
      throw new Error('it was not whole');
    });
    await expect(refused).rejects.toThrow('it was not whole');
    expect(await storage.list('a/refused')).toEqual([]);
    expect(await server.unfinishedUploads()).toBe(0);
  });

  it('lists, reads and deletes objects', async () => {
    await storage.put('b/one', Buffer.from('1'));
    await storage.put('b/two', Buffer.from('22'));
    await storage.put('bc', Buffer.from('3'));
    expect(await storage.list('b/')).toEqual([
      { key: 'b/one', bytes: 1 },
      { key: 'b/two', bytes: 2 },
    ]);
    const found = await storage.read('b/two');
    expect(found?.bytes).toBe(2);
    expect(String(await readBounded(found?.content as unknown as AsyncIterable<Uint8Array>, 10))).toBe('22');
    await storage.remove('b/one');
    await storage.remove('b/one');
    expect(await storage.read('b/one')).toBeUndefined();
  });

  it('is cleaned of uploads that were never ended, and only of those with the prefix', async () => {
    const { S3mini } = await import('s3mini');
    const { createS3Fetch } = await import('./s3/s3-fetch.ts');
    const { createHttpAgent } = await import('../lib/net/http.ts');
    const agent = createHttpAgent({ ca: server.ca });
    const { accessKeyId, secretAccessKey, endpoint, bucket } = server;
    const signal = AbortSignal.timeout(20_000);
    const raw = new S3mini({
      ...{ accessKeyId, secretAccessKey, endpoint: `${endpoint}/${bucket}`, region: 'us-east-1' },
      fetch: createS3Fetch({ agent, clock, signal }),
    });
    const mine = await raw.getMultipartUploadId('c/mine');
    await raw.uploadPart('c/mine', mine, Buffer.from('part'), 1);
    const other = await raw.getMultipartUploadId('d/other');
    expect(await storage.removeUnfinished('c/')).toBe(1);
    expect(await server.unfinishedUploads()).toBe(1);
    await raw.abortMultipartUpload('d/other', other);
    await agent.destroy();
  });

  it.each<[string, Partial<StorageAccess>, RegExp]>([
    [
      'a wrong key',
      { secretAccessKey: new SecretString('wrong') },
      /s3\.credentialsRef: .*403 SignatureDoesNotMatch\. Correct .* of Secret keys/,
    ],
    [
      'an unknown key',
      { accessKeyId: new SecretString('unknown') },
      /s3\.credentialsRef: .*404 XAdminUserNotFound\. Correct/,
    ],
    ['a bucket that does not exist', { bucket: 'none' }, /s3\.bucket: .* has no bucket none\. Create it/],
    [
      'an authority that is not trusted',
      { caBundle: undefined },
      /s3\.endpoint: 127\.0\.0\.1:\d+ .*Set spec\.backup\.s3\.caBundle/,
    ],
    [
      'a server that does not answer',
      { endpoint: 'https://127.0.0.1:1' },
      /s3\.endpoint: 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Check the URL/,
    ],
  ])('names the field for %s', async (_, more, message) => {
    const wrong = open(more);
    await expect(wrong.list('a/')).rejects.toThrow(message);
    await wrong.close();
  });
});
