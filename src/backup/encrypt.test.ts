import { randomBytes } from 'node:crypto';
import { Decrypter, generateHybridIdentity, generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { encryptContent } from './encrypt.ts';

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function encrypt(recipients: readonly string[], content: Buffer, pieceBytes: number): Promise<Buffer> {
  const { encrypted, produced } = await encryptContent(recipients, async (write) => {
    for (let at = 0; at < content.length; at += pieceBytes) await write(content.subarray(at, at + pieceBytes));
  });
  const all = await readAll(encrypted);
  await produced;
  return all;
}

async function decrypt(identity: string, encrypted: Buffer): Promise<Buffer> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return Buffer.from(await decrypter.decrypt(encrypted));
}

const chunk = 64 * 1024;

it.each([0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 7])(
  'what is encrypted of %i bytes is a file of age, which the identity of each recipient decrypts',
  async (size) => {
    const identities = [await generateIdentity(), await generateHybridIdentity()];
    const recipients = await Promise.all(identities.map((identity) => identityToRecipient(identity)));
    const content = randomBytes(size);
    for (const pieceBytes of [1000, 32 * 1024, chunk, 5 * chunk]) {
      const encrypted = await encrypt(recipients, content, pieceBytes);
      for (const identity of identities) expect((await decrypt(identity, encrypted)).equals(content)).toBe(true);
    }
  },
);

it('a changed, a cut and an extended file are refused, and no other identity decrypts it', async () => {
  const identity = await generateIdentity();
  const encrypted = await encrypt([await identityToRecipient(identity)], randomBytes(2 * chunk + 5), chunk);
  const changed = Buffer.from(encrypted);
  changed[changed.length - chunk] = (changed.at(-chunk) ?? 0) ^ 1;
  for (const wrong of [changed, encrypted.subarray(0, -21), Buffer.concat([encrypted, Buffer.alloc(20)])])
    await expect(decrypt(identity, wrong)).rejects.toThrow();
  await expect(decrypt(await generateIdentity(), encrypted)).rejects.toThrow();
});

it('two files of the same content have nothing in common', async () => {
  const recipient = await identityToRecipient(await generateIdentity());
  const content = Buffer.alloc(chunk);
  const [one, other] = [await encrypt([recipient], content, chunk), await encrypt([recipient], content, chunk)];
  expect(one.subarray(-1000).equals(other.subarray(-1000))).toBe(false);
});

it('the stream fails with the producer', async () => {
  const recipient = await identityToRecipient(await generateIdentity());
  const { encrypted, produced } = await encryptContent([recipient], async (write) => {
    await write(Buffer.alloc(chunk));
    throw new Error('broken');
  });
  await expect(readAll(encrypted)).rejects.toThrow('broken');
  await expect(produced).rejects.toThrow('broken');
});
