import { Encrypter } from 'age-encryption';

/** Produces content piece by piece. Each `write` ends when the next piece can be taken. */
export type ContentProducer = (write: (piece: Uint8Array) => Promise<void>) => Promise<void>;

/** Content that is encrypted while it is produced, so that it is never whole in memory and never in clear on a disk. */
export interface EncryptedContent {
  readonly encrypted: ReadableStream<Uint8Array>;
  /** Ends with the producer. The stream ends in order only if the producer did. */
  readonly produced: Promise<void>;
}

/** Whether age accepts a public key, including its checksum. */
export function isRecipient(recipient: string): boolean {
  try {
    new Encrypter().addRecipient(recipient);
    return true;
  } catch {
    return false;
  }
}

/** Encrypts with age what `produce` writes. `produce` may still throw after its last piece. */
export async function encryptContent(
  recipients: readonly string[],
  produce: ContentProducer,
): Promise<EncryptedContent> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const encrypted = await encrypter.encrypt(readable);
  const produced = feed(writable, produce);
  // Who consumes the stream may be busy with something else when the producer fails.
  produced.catch(() => {});
  return { encrypted, produced };
}

async function feed(writable: WritableStream<Uint8Array>, produce: ContentProducer): Promise<void> {
  const writer = writable.getWriter();
  try {
    await produce((piece) => writer.write(piece));
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  }
}
