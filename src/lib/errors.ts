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
  FACTORY_UNREACHABLE: { retry: 'backoff', message: 'The image factory could not be reached.' },
  FACTORY_SCHEMATIC_REFUSED: { retry: 'after-change', message: 'The image factory refused the schematic.' },
  FACTORY_SCHEMATIC_DIFFERS: {
    retry: 'after-change',
    message: 'The image factory answers with another schematic than the one asked for.',
  },
  FACTORY_IMAGE_MISSING: { retry: 'after-change', message: 'The image factory does not have this image.' },
  FACTORY_UNAUTHORIZED: { retry: 'after-change', message: 'The image factory asks for credentials or a licence.' },
  FACTORY_FAILED: { retry: 'backoff', message: 'The image factory could not do what was asked.' },
  CLUSTER_SECRETS_MISSING: { retry: 'backoff', message: 'The secrets of the cluster do not exist.' },
  CLUSTER_SECRETS_DAMAGED: { retry: 'after-change', message: 'The secrets of the cluster cannot be read.' },
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
