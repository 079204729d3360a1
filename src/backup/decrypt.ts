import { Decrypter } from 'age-encryption';
import { ProviderError } from '../lib/errors.ts';
import { SecretString } from '../lib/secret-string.ts';

/** The identities of a file as age-keygen writes it: one a line, with comments. Throws CONFIG_INVALID without one. */
export function parseIdentities(text: string): readonly SecretString[] {
  const lines = text.split('\n').map((line) => line.trim());
  const found = lines.filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (found.length > 0) return found.map((line) => new SecretString(line));
  throw new ProviderError(
    'CONFIG_INVALID',
    '--identity: the file has no line that begins with AGE-SECRET-KEY-. Use the file that age-keygen has written; decrypt it first if it has a passphrase.',
  );
}

/** The content in clear, while it is read. Throws if none of the identities fits. */
export async function decryptContent(
  encrypted: ReadableStream<Uint8Array>,
  identities: readonly SecretString[],
): Promise<ReadableStream<Uint8Array>> {
  const decrypter = new Decrypter();
  try {
    for (const identity of identities) decrypter.addIdentity(identity.reveal());
    return await decrypter.decrypt(encrypted);
  } catch (error) {
    await encrypted.cancel().catch(() => {});
    if (error instanceof ProviderError) throw error;
    throw new ProviderError(
      'CREDENTIALS_REFUSED',
      '--identity: no identity of the file decrypts the backup. Use one whose public key was in spec.backup.recipients when it was taken.',
    );
  }
}
