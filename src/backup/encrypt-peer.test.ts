import { randomBytes } from 'node:crypto';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { decryptWithAge } from '../../test/peers/age.ts';
import { missingPeers } from '../../test/peers/find-peer.ts';
import { describeUnlessMissing } from '../../test/support/describe-unless-missing.ts';
import { encryptContent } from './encrypt.ts';

const chunk = 64 * 1024;

describeUnlessMissing('the real age', missingPeers('age'), () => {
  it.each([0, chunk, 5 * chunk + 3])('decrypts what was encrypted of %i bytes', async (size) => {
    const identity = await generateIdentity();
    const content = randomBytes(size);
    const { encrypted } = await encryptContent([await identityToRecipient(identity)], (write) => write(content));
    const pieces: Uint8Array[] = [];
    for await (const piece of encrypted) pieces.push(piece);
    expect(decryptWithAge(identity, Buffer.concat(pieces)).equals(content)).toBe(true);
  });
});
