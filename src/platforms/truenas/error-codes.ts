import { definePlatformErrors, type ErrorCode, type ErrorCodeInfo } from '../../lib/errors.ts';

/** The error codes of TrueNAS. */
export const truenasErrorCodes = {
  TRUENAS_UNREACHABLE: {
    retry: 'backoff',
    message: 'The TrueNAS system could not be reached. Check truenas.url, and that the system is up.',
  },
  TRUENAS_TLS_UNTRUSTED: {
    retry: 'after-change',
    message:
      'The certificate of the TrueNAS system is not trusted. Put its CA into truenas.caBundle, or its SHA-256 into truenas.tlsFingerprint.',
  },
  TRUENAS_FINGERPRINT_DIFFERS: {
    retry: 'after-change',
    message:
      'The certificate of the TrueNAS system has another fingerprint than truenas.tlsFingerprint. Compare with the one on the system, and correct the field only if they are equal: otherwise the connection is intercepted.',
  },
  TRUENAS_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message: 'The connection to TrueNAS ended before the response. The next attempt verifies the result of the call.',
  },
  TRUENAS_KEY_REFUSED: {
    retry: 'after-change',
    message: 'TrueNAS rejected the API key. Check that it belongs to the user in the Secret of truenas.credentialsRef.',
  },
  TRUENAS_KEY_EXPIRED: {
    retry: 'after-change',
    message:
      'The TrueNAS API key has expired or was revoked. Create a new one and update the Secret of truenas.credentialsRef.',
  },
  TRUENAS_OTP_REQUIRED: {
    retry: 'after-change',
    message:
      'TrueNAS requires a one-time password, which the provider cannot supply. Use a user without two-factor authentication.',
  },
  TRUENAS_SCRAM_UNSUPPORTED: {
    retry: 'after-change',
    message:
      'This TrueNAS system does not support SCRAM, and the API key is not sent instead. SCRAM needs TrueNAS 26: update the system, or set truenas.login to Plain.',
  },
  TRUENAS_SERVER_UNPROVEN: {
    retry: 'after-change',
    message:
      'The server did not prove knowledge of the API key: the connection may be intercepted. Find out which system answers.',
  },
  TRUENAS_LOGIN_DENIED: { retry: 'after-change', message: 'TrueNAS rejects this client.' },
  TRUENAS_SESSION_ENDED: { retry: 'backoff', message: 'TrueNAS ended the session.' },
  TRUENAS_ROLE_MISSING: { retry: 'after-change', message: 'The user of the TrueNAS API key lacks a role.' },
  TRUENAS_VERSION_UNSUPPORTED: {
    retry: 'after-change',
    message: 'This TrueNAS version is not supported: virtual machines need 25.04.2 or newer.',
  },
  TRUENAS_TOO_MANY_CALLS: { retry: 'backoff', message: 'TrueNAS has too many concurrent calls of this connection.' },
  TRUENAS_NOT_FOUND: { retry: 'backoff', message: 'A resource on the TrueNAS system disappeared while it was in use.' },
  TRUENAS_ALREADY_EXISTS: {
    retry: 'backoff',
    message: 'A resource with this name was created on the TrueNAS system meanwhile.',
  },
  TRUENAS_BUSY: { retry: 'backoff', message: 'The resource is busy on the TrueNAS system.' },
  TRUENAS_POOL_UNKNOWN: { retry: 'after-change', message: 'The pool does not exist. Correct truenas.pool.' },
  TRUENAS_POOL_FULL: {
    retry: 'after-change',
    message: 'The pool has no space left. Free space, or use another pool in truenas.pool.',
  },
  TRUENAS_DATASET_LOCKED: { retry: 'after-change', message: 'The dataset is encrypted and locked. Unlock it.' },
  TRUENAS_BRIDGE_UNKNOWN: { retry: 'after-change', message: 'The bridge does not exist. Correct truenas.bridge.' },
  TRUENAS_MEMORY_SHORT: {
    retry: 'after-change',
    message:
      'The TrueNAS system does not have enough free memory. Stop other virtual machines or choose a smaller size.',
  },
  TRUENAS_SYSTEM_UNKNOWN: {
    retry: 'after-change',
    message: 'The ProviderConfig no longer has the TrueNAS system of the machine.',
  },
  TRUENAS_SIZE_UNKNOWN: { retry: 'after-change', message: 'The size is not one of truenas.sizes.' },
  TRUENAS_VM_BROKEN: { retry: 'after-change', message: 'TrueNAS cannot run this virtual machine.' },
  TRUENAS_VM_TWICE: {
    retry: 'after-change',
    message: 'Two virtual machines have the UUID of this machine. Neither is changed.',
  },
  TRUENAS_IMAGE_CHANGED: {
    retry: 'after-change',
    message:
      'A cached boot image was changed repeatedly. Find out what changes it, then remove the user property with its size from its dataset: the image is downloaded again. Do not delete the dataset, which would stop the machines that use it.',
  },
  TRUENAS_DOWNLOAD_FAILED: { retry: 'backoff', message: 'A file could not be read back from the TrueNAS system.' },
  TRUENAS_UPLOAD_FAILED: { retry: 'backoff', message: 'A file could not be copied to the TrueNAS system.' },
  TRUENAS_REFUSED: { retry: 'after-change', message: 'TrueNAS rejected a value.' },
  TRUENAS_CALL_FAILED: { retry: 'backoff', message: 'A call to TrueNAS failed.' },
  TRUENAS_REPLY_UNKNOWN: { retry: 'bug', message: 'The response of TrueNAS has an unknown format.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export type TrueNasErrorCode = keyof typeof truenasErrorCodes | ErrorCode;

/** A failure with a code of TrueNAS, or a shared one. */
export const TrueNasError = definePlatformErrors(truenasErrorCodes);
