import type { S3mini } from 's3mini';

export interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
}

type XmlElement = Readonly<Record<string, unknown>>;

/**
 * The first thousand uploads in parts that were begun for keys with this prefix. Some servers list those of exactly this key
 * instead, and so none; these remove old ones by themselves.
 */
export async function listUploads(s3: S3mini, prefix: string): Promise<readonly UnfinishedUpload[]> {
  const answer = (await s3.listMultipartUploads('/', '', 'GET', { prefix })) as unknown as XmlElement;
  const result = toElement(answer['ListMultipartUploadsResult'] ?? answer['listMultipartUploadsResult'] ?? answer);
  const uploads = result['Upload'] ?? [];
  return (
    (Array.isArray(uploads) ? uploads : [uploads])
      .map(toElement)
      .map(({ Key, UploadId }) => ({ key: String(Key ?? ''), uploadId: String(UploadId ?? '') }))
      // A server may ignore the prefix.
      .filter(({ key, uploadId }) => key.startsWith(prefix) && uploadId !== '')
  );
}

const toElement = (value: unknown): XmlElement =>
  typeof value === 'object' && value !== null ? (value as XmlElement) : {};
