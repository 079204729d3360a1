import { S3mini } from 's3mini';
import type { Clock } from '../lib/clock.ts';
import { deadlineSignal } from '../lib/deadline.ts';
import { createHttpAgent, type HttpRequest } from '../lib/net/http.ts';
import type { SecretString } from '../lib/secret-string.ts';
import type { EncryptedContent } from './encrypt.ts';
import { bucketMissing, type S3Place, tooManyObjects, toS3Error } from './s3/s3-errors.ts';
import { createS3Fetch } from './s3/s3-fetch.ts';
import { listUploads } from './s3/unfinished-uploads.ts';
import { type UploadedObject, uploadContent } from './s3/upload.ts';

/** A bucket, and the key to it. */
export interface StorageAccess extends S3Place {
  readonly region: string;
  readonly caBundle?: string | undefined;
  readonly accessKeyId: SecretString;
  readonly secretAccessKey: SecretString;
}

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
}

/** An object that is being read. */
export interface ReadObject {
  readonly bytes: number;
  readonly content: ReadableStream<Uint8Array>;
}

/** More than a thousand backups of three clusters have. */
const maxListed = 10_000;
/** After the work was ended, e.g. by a shutdown. */
const cleanUpSeconds = 5;

/** The objects of a bucket. Every error names the field of `spec.backup.s3` and the remedy. Close it after use. */
export class BackupStorage {
  readonly #access: StorageAccess;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #signal: AbortSignal;
  readonly #agent: ReturnType<typeof createHttpAgent>;
  readonly #s3: S3mini;

  constructor(
    access: StorageAccess,
    { clock, signal }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
  ) {
    this.#access = access;
    this.#clock = clock;
    this.#signal = signal;
    this.#agent = createHttpAgent({ connections: 4, ...(access.caBundle ? { ca: access.caBundle } : {}) });
    this.#s3 = this.#open(signal);
  }

  /** The objects whose keys begin with the prefix, in the order of their keys. */
  async list(prefix: string): Promise<readonly StoredObject[]> {
    const found = await this.#ask(async () => {
      const listed = await this.#s3.listObjects('/', prefix, maxListed);
      // The client does not tell why it was not found; the next request does. Some servers say so of an unknown key, too.
      if (!listed) await listUploads(this.#s3, prefix);
      return listed;
    });
    if (!found) throw bucketMissing(this.#access);
    // A part of them would not tell which backup is the newest.
    if (found.length >= maxListed) throw tooManyObjects(prefix);
    return found
      .map(({ Key, Size }) => ({ key: Key, bytes: Size }))
      .filter(({ key }) => key.startsWith(prefix))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Writes a small object. */
  async put(key: string, content: Uint8Array): Promise<void> {
    await this.#ask(() => this.#s3.putObject(key, content));
  }

  /** Writes an object of any size while it is produced. After a failure it does not exist. An error of the content is thrown as it is. */
  async upload(key: string, content: EncryptedContent): Promise<UploadedObject> {
    const abortUpload = async (uploadId: string) =>
      void (await this.#open(deadlineSignal(cleanUpSeconds)).abortMultipartUpload(key, uploadId));
    return await uploadContent({ s3: this.#s3, key, ask: (request) => this.#ask(request), abortUpload }, content);
  }

  /** Undefined if there is no such object. Read it to its end, or cancel it. */
  async read(key: string): Promise<ReadObject | undefined> {
    const response = await this.#ask(() => this.#s3.getObjectResponse(key));
    if (!response?.body) return undefined;
    const bytes = Number(response.headers.get('content-length') ?? 0);
    return { bytes, content: this.#convertErrors(response.body) };
  }

  async remove(key: string): Promise<void> {
    await this.#ask(() => this.#s3.deleteObject(key));
  }

  /** Removes the parts of uploads that a process has begun and not ended. Returns their number. */
  async removeUnfinished(prefix: string): Promise<number> {
    const found = await this.#ask(() => listUploads(this.#s3, prefix));
    for (const { key, uploadId } of found) await this.#ask(() => this.#s3.abortMultipartUpload(key, uploadId));
    return found.length;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #open(signal: AbortSignal): S3mini {
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = this.#access;
    const agent: NonNullable<HttpRequest['agent']> = this.#agent;
    return new S3mini({
      // With the bucket in the path: a server without a name of its own has no names for its buckets.
      endpoint: `${endpoint.replace(/\/$/, '')}/${bucket}`,
      region,
      accessKeyId: accessKeyId.reveal(),
      secretAccessKey: secretAccessKey.reveal(),
      fetch: createS3Fetch({ agent, clock: this.#clock, signal }),
    });
  }

  /** A connection may break while an object is read. */
  #convertErrors(content: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = content.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await this.#ask(() => reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: async (reason) => await reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      throw toS3Error(error, this.#access);
    }
  }
}
