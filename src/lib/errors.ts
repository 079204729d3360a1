/**
 * How a failure is treated. `backoff`: try again, later each time. `after-change`: a person or the spec has to change
 * something; look again on a new generation and every ten minutes. `bug`: ours; logged with its stack.
 */
export type Retry = 'backoff' | 'after-change' | 'bug';

export interface CodeInfo {
  readonly retry: Retry;
  /** One sentence for people. What varies is added by the place that throws. */
  readonly message: string;
}

/**
 * Every code that can appear in a log, an event or a condition. Codes are part of our API, sentences are not.
 * The README's table is generated from here.
 */
export const codes = {
  DEADLINE_EXCEEDED: { retry: 'backoff', message: 'The other side did not answer in time.' },
  UNREACHABLE: { retry: 'backoff', message: 'The other side could not be reached.' },
  CONFIG_INVALID: { retry: 'after-change', message: 'The configuration is not valid.' },
  CREDENTIALS_MISSING: { retry: 'after-change', message: 'The referenced Secret or one of its keys does not exist.' },
  CREDENTIALS_REFUSED: { retry: 'after-change', message: 'The credentials were refused.' },
  TLS_UNTRUSTED: { retry: 'after-change', message: 'The certificate of the other side is not trusted.' },
  ADDRESS_POOL_EMPTY: { retry: 'after-change', message: 'The address pool has no free address left.' },
  OWNED_BY_OTHERS: { retry: 'after-change', message: 'An object of this name exists and does not carry our mark.' },
  TALOS_SECRETS_INVALID: { retry: 'after-change', message: 'The Talos secrets bundle cannot be used.' },
  TALOS_CONFIG_INVALID: { retry: 'after-change', message: 'The machine configuration would not be accepted by Talos.' },
  TALOS_PATCH_INVALID: { retry: 'after-change', message: 'A patch does not fit the machine configuration.' },
  TALOS_UNREACHABLE: { retry: 'backoff', message: 'The Talos API of the node could not be reached.' },
  TALOS_FOREIGN_NODE: {
    retry: 'after-change',
    message: 'The node answers with a certificate that does not belong to this cluster.',
  },
  TALOS_NOT_READY: { retry: 'backoff', message: 'The node is not ready for this yet.' },
  TALOS_ALREADY_BOOTSTRAPPED: { retry: 'after-change', message: 'The node already holds data of an etcd cluster.' },
  TALOS_PERMISSION_DENIED: { retry: 'after-change', message: 'The node does not allow this call.' },
  TALOS_CONFIG_REFUSED: { retry: 'after-change', message: 'The node refused the request as invalid.' },
  TALOS_NOT_FOUND: { retry: 'backoff', message: 'The node does not know this object.' },
  TALOS_UNSUPPORTED: { retry: 'after-change', message: 'The Talos version of the node does not know this call.' },
  TALOS_CALL_FAILED: { retry: 'backoff', message: 'A call to the Talos API of the node failed.' },
  FACTORY_UNREACHABLE: {
    retry: 'backoff',
    message: 'The image factory could not be reached. Check talos.factoryUrl, and that it is up.',
  },
  FACTORY_SCHEMATIC_REFUSED: {
    retry: 'after-change',
    message: 'The image factory refused the schematic. Correct talos.extensions or talos.kernelArguments.',
  },
  FACTORY_SCHEMATIC_DIFFERS: {
    retry: 'after-change',
    message: 'The image factory answers with another schematic than the one asked for.',
  },
  FACTORY_IMAGE_MISSING: {
    retry: 'after-change',
    message: 'The image factory does not have this image. Correct talos.version or talos.extensions.',
  },
  FACTORY_UNAUTHORIZED: {
    retry: 'after-change',
    message: 'The image factory asks for credentials or a licence. Name another in talos.factoryUrl.',
  },
  FACTORY_FAILED: { retry: 'backoff', message: 'The image factory could not do what was asked.' },
  CLUSTER_SECRETS_MISSING: { retry: 'backoff', message: 'The secrets of the cluster do not exist.' },
  CLUSTER_SECRETS_DAMAGED: { retry: 'after-change', message: 'The secrets of the cluster cannot be read.' },
  TRUENAS_UNREACHABLE: {
    retry: 'backoff',
    message: 'The TrueNAS system could not be reached. Check truenas.url, and that the system is up.',
  },
  TRUENAS_TLS_UNTRUSTED: {
    retry: 'after-change',
    message: 'The certificate of the TrueNAS system is not trusted. Put its CA into truenas.caBundle.',
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
  TRUENAS_SIZE_UNKNOWN: { retry: 'after-change', message: 'The size is not one of truenas.sizes.' },
  TRUENAS_VM_BROKEN: { retry: 'after-change', message: 'TrueNAS cannot run this virtual machine.' },
  TRUENAS_IMAGE_CHANGED: {
    retry: 'after-change',
    message: 'A cached boot image is not what was put there. Delete its dataset, and it will be fetched again.',
  },
  TRUENAS_UPLOAD_FAILED: { retry: 'backoff', message: 'A file could not be copied to the TrueNAS system.' },
  TRUENAS_REFUSED: { retry: 'after-change', message: 'TrueNAS refused a value.' },
  TRUENAS_CALL_FAILED: { retry: 'backoff', message: 'A call to TrueNAS failed.' },
  TRUENAS_REPLY_UNKNOWN: { retry: 'bug', message: 'TrueNAS answered in a shape that we do not know.' },
  CRD_OWNED_BY_OTHERS: {
    retry: 'after-change',
    message: 'A CustomResourceDefinition of this name exists and is not for platform clusters.',
  },
  CRD_NOT_ESTABLISHED: { retry: 'backoff', message: 'The API server does not serve a CustomResourceDefinition.' },
  INTERNAL: { retry: 'bug', message: 'Something went wrong inside the provider.' },
} as const satisfies Record<string, CodeInfo>;

export type Code = keyof typeof codes;

/**
 * A failure with a code. `detail` completes the code's sentence and is shown to people: it names the field or object
 * and what to do, and never holds a credential. `retryAfterSeconds` is the other side's own wish.
 */
export class ProviderError extends Error {
  readonly code: Code;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: Code, detail = '', options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(detail ? `${codes[code].message} ${detail}` : codes[code].message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get retry(): Retry {
    return codes[this.code].retry;
  }
}

/** How to treat anything that was thrown. What has no code is our own bug. */
export function retryOf(error: unknown): Retry {
  return error instanceof ProviderError ? error.retry : 'bug';
}
