import { randomBytes } from 'node:crypto';
import { Encrypter } from 'age-encryption';
import { encryptPayload, nonceBytes } from './age-payload.ts';

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
  const { header, fileKey } = await createHeader(recipients);
  const nonce = randomBytes(nonceBytes);
  const { readable, writable } = encryptPayload(fileKey, nonce);
  const encrypted = withPrefix(Buffer.concat([header, nonce]), readable);
  const produced = feed(writable, produce);
  // Who consumes the stream may be busy with something else when the producer fails.
  produced.catch(() => {});
  return { encrypted, produced };
}

/** Length of the encryption of nothing: a nonce, and the tag of an empty chunk. */
const emptyPayloadBytes = nonceBytes + 16;

/** The header of a new file, and the key in it. The library makes both, for a recipient that is told the key. */
async function createHeader(recipients: readonly string[]): Promise<{ header: Uint8Array; fileKey: Uint8Array }> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  let fileKey = new Uint8Array();
  const wrapFileKey = (key: Uint8Array): [] => {
    fileKey = Uint8Array.from(key);
    return [];
  };
  encrypter.addRecipient({ wrapFileKey });
  const whole = await encrypter.encrypt(new Uint8Array());
  return { header: whole.subarray(0, whole.length - emptyPayloadBytes), fileKey };
}

function withPrefix(prefix: Uint8Array, content: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = content.getReader();
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(prefix),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
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
