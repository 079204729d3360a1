import type { S3mini } from 's3mini';
import { ProviderError } from '../../lib/errors.ts';
import { collectYoungGarbage } from '../../lib/young-garbage.ts';
import type { EncryptedContent } from '../encrypt.ts';
import { type FilledPart, PartFiller } from './part-filler.ts';
import { md5Header } from './s3-fetch.ts';

/**
 * A server answers only after it has stored a part, and then another one is on its way. More would cost memory, and a slow
 * line gains nothing from them.
 */
const parallelParts = 2;

/** As much again is garbage, and a collection takes a millisecond. */
const bytesPerCollection = 2.5 * 1024 * 1024;

/** An object that was written. */
export interface UploadedObject {
  readonly bytes: number;
  /** Hexadecimal SHA-256 of what was written. */
  readonly sha256: string;
}

/** Makes a request, and converts its error into one that names the setting. The content has errors of its own. */
export type AskS3 = <T>(request: () => Promise<T>) => Promise<T>;

export interface UploadTarget {
  readonly s3: S3mini;
  readonly key: string;
  readonly ask: AskS3;
  abortUpload(uploadId: string): Promise<void>;
}

/**
 * Uploads content in parts while it is produced: two parts are sent while the next one is filled. The object exists only if
 * the producer ended in order; after any failure the parts are removed from the server. Throws the error of the producer
 * unchanged.
 */
export async function uploadContent(target: UploadTarget, content: EncryptedContent): Promise<UploadedObject> {
  const { s3, key, ask } = target;
  const uploadId = await ask(() => s3.getMultipartUploadId(key)).catch(async (error: unknown) => {
    await Promise.allSettled([content.encrypted.cancel(error), content.produced]);
    throw error;
  });
  const upload = new PartUpload(target, uploadId);
  try {
    await upload.sendAll(content);
    return await upload.complete();
  } catch (error) {
    // What is left if this fails is removed before the next backup.
    await target.abortUpload(uploadId).catch(() => {});
    throw error;
  }
}

class PartUpload {
  readonly #target: UploadTarget;
  readonly #uploadId: string;
  readonly #parts: { readonly partNumber: number; readonly etag: string }[] = [];
  readonly #filler = new PartFiller(parallelParts + 1);
  /** Whether the server names parts by their MD5, as most do: then it names the object by the MD5 of these. */
  #isNamedByMd5 = true;
  /** The parts that are being sent, the oldest one first. */
  readonly #sending: Promise<void>[] = [];
  #failure: unknown;
  /** Bytes that have arrived since garbage was collected. */
  #sinceCollection = 0;

  constructor(target: UploadTarget, uploadId: string) {
    this.#target = target;
    this.#uploadId = uploadId;
  }

  /** Ends when everything was sent and the producer has ended in order. */
  async sendAll({ encrypted, produced }: EncryptedContent): Promise<void> {
    const ends = await Promise.allSettled([produced, this.#sendParts(encrypted)]);
    // Nothing is sent any more when the parts are removed.
    await Promise.allSettled(this.#sending);
    // What stopped the upload also stopped the producer, whose own error only says that it was stopped.
    if (this.#failure !== undefined) throw this.#failure;
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #sendParts(encrypted: ReadableStream<Uint8Array>): Promise<void> {
    const reader = encrypted.getReader();
    const stop = (error: unknown) => void reader.cancel(error).catch(() => {});
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        for (const part of this.#filler.add(piece.value)) await this.#beginToSend(part, stop);
        this.#collectGarbage(piece.value.length);
      }
      for (const part of this.#filler.end()) await this.#beginToSend(part, stop);
      await Promise.all(this.#sending);
    } catch (error) {
      stop(error);
      throw error;
    }
  }

  /** Waits until a part can be sent beside the others. `stop` is called if it fails. */
  async #beginToSend(part: FilledPart, stop: (error: unknown) => void): Promise<void> {
    if (this.#sending.length === parallelParts) await this.#sending.shift();
    const sending = this.#sendPart(part);
    sending.catch(stop);
    this.#sending.push(sending);
  }

  /** What was received and encrypted leaves some buffers for each piece. */
  #collectGarbage(bytes: number): void {
    this.#sinceCollection += bytes;
    if (this.#sinceCollection < bytesPerCollection) return;
    this.#sinceCollection = 0;
    collectYoungGarbage();
  }

  async #sendPart({ number, content, md5 }: FilledPart): Promise<void> {
    const { s3, key, ask } = this.#target;
    try {
      const sent = await ask(() => s3.uploadPart(key, this.#uploadId, content, number, {}, undefined, md5Header(md5)));
      this.#parts[number - 1] = sent;
      this.#isNamedByMd5 &&= sent.etag.toLowerCase() === md5.toString('hex');
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }

  /** Makes the object of its parts, and compares it with what was sent. */
  async complete(): Promise<UploadedObject> {
    const { s3, key, ask } = this.#target;
    const { bytes, sha256, md5OfParts } = this.#filler.summary();
    // A reply that is lost, or a 200 with an error inside, does not tell whether the object exists: its description does.
    const completed = await ask(() => s3.completeMultipartUpload(key, this.#uploadId, this.#parts)).catch(
      (error: unknown) => error,
    );
    const found = await s3.getContentLength(key).catch(() => undefined);
    if (found === undefined && completed instanceof Error) throw completed;
    const etag = (await ask(() => s3.getEtag(key))) ?? '';
    const problem = this.#findProblem(found, etag, { bytes, md5OfParts });
    if (problem === undefined) return { bytes, sha256 };
    if (found !== undefined) await s3.deleteObject(key).catch(() => {});
    throw new ProviderError('S3_FAILED', `${key} ${problem}. It is not kept.`);
  }

  #findProblem(
    found: number | undefined,
    etag: string,
    sent: { readonly bytes: number; readonly md5OfParts: string },
  ): string | undefined {
    if (found !== sent.bytes) return `has ${found ?? 'no'} bytes on the server instead of ${sent.bytes}`;
    const [, md5, count] = /^"?([0-9a-f]{32})-(\d+)"?$/i.exec(etag) ?? [];
    if (!this.#isNamedByMd5 || md5 === undefined || Number(count) !== this.#parts.length) return undefined;
    return md5.toLowerCase() === sent.md5OfParts ? undefined : 'is not on the server what was sent';
  }
}
