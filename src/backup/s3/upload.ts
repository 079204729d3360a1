import { createHash } from 'node:crypto';
import type { S3mini } from 's3mini';
import { ProviderError } from '../../lib/errors.ts';
import type { EncryptedContent } from '../encrypt.ts';

/** An object that was written. */
export interface UploadedObject {
  readonly bytes: number;
  /** Hexadecimal SHA-256 of what was written. */
  readonly sha256: string;
}

/** S3 allows 10 000 parts, of equal size except for the last: enough for 80 GiB. At most two of them are in memory. */
const partBytes = 8 * 1024 * 1024;

/**
 * Uploads content in parts while it is produced. The object exists only if the producer ended in order; after any failure
 * the parts are removed from the server.
 */
export async function uploadContent(
  s3: S3mini,
  key: string,
  content: EncryptedContent,
  abortUpload: (key: string, uploadId: string) => Promise<void>,
): Promise<UploadedObject> {
  const uploadId = await s3.getMultipartUploadId(key).catch(async (error: unknown) => {
    await Promise.allSettled([content.encrypted.cancel(error), content.produced]);
    throw error;
  });
  const upload = new PartUpload(s3, key, uploadId);
  try {
    await upload.sendAll(content);
    return await upload.complete();
  } catch (error) {
    // What is left if this fails is removed before the next backup.
    await abortUpload(key, uploadId).catch(() => {});
    throw error;
  }
}

class PartUpload {
  readonly #s3: S3mini;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #parts: { readonly partNumber: number; readonly etag: string }[] = [];
  readonly #hash = createHash('sha256');
  readonly #md5OfParts = createHash('md5');
  /** Whether the server names parts by their MD5, as most do: then it names the object by the MD5 of these. */
  #isNamedByMd5 = true;
  #bytes = 0;
  #failure: unknown;

  constructor(s3: S3mini, key: string, uploadId: string) {
    this.#s3 = s3;
    this.#key = key;
    this.#uploadId = uploadId;
  }

  /** Ends when everything was sent and the producer has ended in order. */
  async sendAll({ encrypted, produced }: EncryptedContent): Promise<void> {
    const ends = await Promise.allSettled([produced, this.#sendParts(encrypted)]);
    // What stopped the upload also stopped the producer, whose own error only says that it was stopped.
    if (this.#failure !== undefined) throw this.#failure;
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #sendParts(encrypted: ReadableStream<Uint8Array>): Promise<void> {
    const reader = encrypted.getReader();
    const buffer = Buffer.allocUnsafe(partBytes);
    let filled = 0;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (let at = 0; at < value.length; ) {
          const piece = value.subarray(at, at + partBytes - filled);
          buffer.set(piece, filled);
          filled += piece.length;
          at += piece.length;
          if (filled === partBytes) filled = await this.#sendPart(buffer);
        }
      }
      if (filled > 0) await this.#sendPart(buffer.subarray(0, filled));
    } catch (error) {
      await reader.cancel(error).catch(() => {});
      throw error;
    }
  }

  /** Resolves with the number of bytes that are left to send: none. */
  async #sendPart(part: Buffer): Promise<0> {
    const md5 = createHash('md5').update(part).digest();
    try {
      const sent = await this.#s3.uploadPart(this.#key, this.#uploadId, part, this.#parts.length + 1);
      this.#parts.push(sent);
      this.#isNamedByMd5 &&= sent.etag.toLowerCase() === md5.toString('hex');
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    this.#md5OfParts.update(md5);
    this.#hash.update(part);
    this.#bytes += part.length;
    return 0;
  }

  /** Makes the object of its parts, and compares it with what was sent. */
  async complete(): Promise<UploadedObject> {
    // A reply that is lost, or a 200 with an error inside, does not tell whether the object exists: its description does.
    const completed = await this.#s3
      .completeMultipartUpload(this.#key, this.#uploadId, this.#parts)
      .catch((error: unknown) => error);
    const found = await this.#s3.getContentLength(this.#key).catch(() => undefined);
    if (found === undefined && completed instanceof Error) throw completed;
    const etag = (await this.#s3.getEtag(this.#key)) ?? '';
    const problem = this.#findProblem(found, etag);
    if (problem === undefined) return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
    if (found !== undefined) await this.#s3.deleteObject(this.#key).catch(() => {});
    throw new ProviderError('S3_FAILED', `${this.#key} ${problem}. It is not kept.`);
  }

  #findProblem(found: number | undefined, etag: string): string | undefined {
    if (found !== this.#bytes) return `has ${found ?? 'no'} bytes on the server instead of ${this.#bytes}`;
    const [, md5, count] = /^"?([0-9a-f]{32})-(\d+)"?$/i.exec(etag) ?? [];
    if (!this.#isNamedByMd5 || md5 === undefined || Number(count) !== this.#parts.length) return undefined;
    return md5.toLowerCase() === this.#md5OfParts.digest('hex') ? undefined : 'is not on the server what was sent';
  }
}
