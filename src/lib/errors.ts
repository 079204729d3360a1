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
