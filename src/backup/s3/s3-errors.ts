import { S3ServiceError } from 's3mini';
import { ContentTooLargeError } from '../../lib/bounded-read.ts';
import { ProviderError } from '../../lib/errors.ts';

/** The names of the settings that an error tells users to change. */
export interface S3Place {
  readonly endpoint: string;
  readonly bucket: string;
  /** Name of the Secret. */
  readonly credentials: string;
}

const field = 'spec.backup.s3';

/** The codes of S3 for a key that does not exist or does not fit. The last one is versitygw's. */
const wrongKeyCodes = [
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'ExpiredToken',
  'TokenRefreshRequired',
  'XAdminUserNotFound',
];
const wrongRegionCodes = ['AuthorizationHeaderMalformed', 'PermanentRedirect', 'IllegalLocationConstraintException'];

/** Converts an error of a request to S3 into one that names the field and the remedy. */
export function toS3Error(error: unknown, place: S3Place): unknown {
  if (error instanceof S3ServiceError) return explain(error, place);
  // The client cannot read the answer, or it is too long for one.
  if (error instanceof Error && (error.message.startsWith('[s3mini]') || error instanceof ContentTooLargeError))
    return new ProviderError('S3_REFUSED', `${field}.endpoint: this is no S3 server. Correct the URL.`, {
      cause: error,
    });
  if (!(error instanceof ProviderError)) return error;
  const remedies: Readonly<Record<string, string>> = {
    TLS_UNTRUSTED: ` Set ${field}.caBundle to the CA certificates of the server.`,
    UNREACHABLE: ' Check the URL, and that the server can be reached from here.',
  };
  return error.with({ detail: `${field}.endpoint: ${error.detail}${remedies[error.code] ?? ''}` });
}

function explain(cause: S3ServiceError, { endpoint, bucket, credentials }: S3Place): ProviderError {
  const { status } = cause;
  const code = cause.serviceCode ?? 'Unknown';
  const answer = `The S3 server answers ${status} ${code}.`;
  if (wrongKeyCodes.includes(code))
    return new ProviderError(
      'CREDENTIALS_REFUSED',
      `${field}.credentialsRef: ${answer} Correct accessKeyId and secretAccessKey of Secret ${credentials}.`,
      { cause },
    );
  if (code === 'RequestTimeTooSkewed')
    return new ProviderError('S3_REFUSED', `${answer} Correct the clock of the server, or of this machine.`, { cause });
  if (wrongRegionCodes.includes(code) || (status >= 300 && status < 400))
    return new ProviderError('S3_REFUSED', `${field}.region: ${answer} Set it to the region of the bucket.`, { cause });
  if (code === 'NoSuchBucket') return bucketMissing({ endpoint, bucket }, cause);
  if (status === 401 || status === 403)
    return new ProviderError(
      'CREDENTIALS_REFUSED',
      `${field}.credentialsRef: ${answer} Allow the key of Secret ${credentials} to list, read, write and delete objects of bucket ${bucket}, and to list and abort its multipart uploads.`,
      { cause },
    );
  if (status === 429 || status >= 500) return new ProviderError('S3_FAILED', answer, { cause });
  return new ProviderError('S3_REFUSED', `${field}: ${answer}`, { cause });
}

export const bucketMissing = (
  { endpoint, bucket }: Pick<S3Place, 'endpoint' | 'bucket'>,
  cause?: unknown,
): ProviderError =>
  new ProviderError('S3_REFUSED', `${field}.bucket: ${endpoint} has no bucket ${bucket}. Create it.`, { cause });

export const tooManyObjects = (prefix: string): ProviderError =>
  new ProviderError(
    'S3_REFUSED',
    `${field}.prefix: too many objects have keys that begin with "${prefix}". Use a prefix, or a bucket, that nothing else uses.`,
  );
