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
      'The certificate of the TrueNAS system has another fingerprint than truenas.tlsFingerprint. Compare with the one on the system, and correct the field only when they agree: otherwise somebody stands in between.',
  },
  TRUENAS_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message: 'The connection to TrueNAS ended before it answered. The next attempt looks at what became of the call.',
  },
  TRUENAS_KEY_REFUSED: {
    retry: 'after-change',
    message: 'TrueNAS refused the API key. Check that it belongs to the user in the Secret of truenas.credentialsRef.',
  },
  TRUENAS_KEY_EXPIRED: {
    retry: 'after-change',
    message:
      'The TrueNAS API key has expired or was revoked. Make a new one and put it into the Secret of truenas.credentialsRef.',
  },
  TRUENAS_OTP_REQUIRED: {
    retry: 'after-change',
    message:
      'TrueNAS asks for a one-time password, which a service cannot give. Use a user without two-factor authentication.',
  },
  TRUENAS_SCRAM_UNSUPPORTED: {
    retry: 'after-change',
    message:
      'This TrueNAS system cannot be logged in to by SCRAM, and the API key is not sent in its place. SCRAM needs TrueNAS 26: update the system, or set truenas.login to Plain.',
  },
  TRUENAS_SERVER_UNPROVEN: {
    retry: 'after-change',
    message:
      'What answers in place of the TrueNAS system did not prove that it knows the API key, too. Find out who stands in between.',
  },
  TRUENAS_LOGIN_DENIED: { retry: 'after-change', message: 'TrueNAS does not let this client in.' },
  TRUENAS_SESSION_ENDED: { retry: 'backoff', message: 'TrueNAS ended the session.' },
  TRUENAS_ROLE_MISSING: { retry: 'after-change', message: 'The user of the TrueNAS API key lacks a role.' },
  TRUENAS_VERSION_UNSUPPORTED: {
    retry: 'after-change',
    message: 'This TrueNAS version is not supported: virtual machines need 25.04.2 or newer.',
  },
  TRUENAS_TOO_MANY_CALLS: { retry: 'backoff', message: 'TrueNAS has too many calls of this connection in hand.' },
  TRUENAS_NOT_FOUND: { retry: 'backoff', message: 'Something vanished from the TrueNAS system while it was in use.' },
  TRUENAS_ALREADY_EXISTS: {
    retry: 'backoff',
    message: 'Something of this name came into being on the TrueNAS system.',
  },
  TRUENAS_BUSY: { retry: 'backoff', message: 'TrueNAS says that it is still busy with this.' },
  TRUENAS_POOL_UNKNOWN: { retry: 'after-change', message: 'The pool does not exist. Correct truenas.pool.' },
  TRUENAS_POOL_FULL: {
    retry: 'after-change',
    message: 'The pool has no room left. Free space or name another in truenas.pool.',
  },
  TRUENAS_DATASET_LOCKED: { retry: 'after-change', message: 'The dataset is encrypted and locked. Unlock it.' },
  TRUENAS_BRIDGE_UNKNOWN: { retry: 'after-change', message: 'The bridge does not exist. Correct truenas.bridge.' },
  TRUENAS_MEMORY_SHORT: {
    retry: 'after-change',
    message: 'The TrueNAS system has not enough free memory. Stop other virtual machines or choose a smaller size.',
  },
  TRUENAS_SYSTEM_UNKNOWN: {
    retry: 'after-change',
    message: 'The ProviderConfig does not name the TrueNAS system of the machine any more.',
  },
  TRUENAS_SIZE_UNKNOWN: { retry: 'after-change', message: 'The size is not one of truenas.sizes.' },
  TRUENAS_VM_BROKEN: { retry: 'after-change', message: 'TrueNAS cannot run this virtual machine.' },
  TRUENAS_VM_TWICE: {
    retry: 'after-change',
    message: 'Two virtual machines have the UUID by which ours is known, so neither is touched.',
  },
  TRUENAS_IMAGE_CHANGED: {
    retry: 'after-change',
    message:
      'A cached boot image is not what was put there, again and again. Find out who changes it; then take the note of its size off its dataset, and it is fetched again; deleting the dataset would stop the machines that use it.',
  },
  TRUENAS_DOWNLOAD_FAILED: { retry: 'backoff', message: 'A file could not be read back from the TrueNAS system.' },
  TRUENAS_UPLOAD_FAILED: { retry: 'backoff', message: 'A file could not be copied to the TrueNAS system.' },
  TRUENAS_REFUSED: { retry: 'after-change', message: 'TrueNAS refused a value.' },
  TRUENAS_CALL_FAILED: { retry: 'backoff', message: 'A call to TrueNAS failed.' },
  TRUENAS_REPLY_UNKNOWN: { retry: 'bug', message: 'TrueNAS answered in a shape that we do not know.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export type TrueNasErrorCode = keyof typeof truenasErrorCodes | ErrorCode;

/** A failure with a code of TrueNAS, or a shared one. */
export const TrueNasError = definePlatformErrors(truenasErrorCodes);
