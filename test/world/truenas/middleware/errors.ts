/** Error numbers of Linux and of the middleware (201 and up), by their symbol. */
export const errnos = {
  EPERM: 1,
  ENOENT: 2,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  EEXIST: 17,
  EXDEV: 18,
  ENOTDIR: 20,
  EINVAL: 22,
  ENOSPC: 28,
  ENOTEMPTY: 39,
  EOPNOTSUPP: 95,
  ETOOMANYREFS: 109,
  ENOMETHOD: 201,
  ENOTAUTHENTICATED: 207,
} as const;

/** The symbol of an error number. */
export function errnoName(errno: number): string {
  return Object.entries(errnos).find(([, number]) => number === errno)?.[0] ?? 'EUNKNOWN';
}

/** A method's error at run time; JSON-RPC code -32001. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly errno: number;
  readonly extra: unknown;

  constructor(message: string, errno: number = errnos.EFAULT, extra: unknown = null) {
    super(message);
    this.errno = errno;
    this.extra = extra;
  }

  get reason(): string {
    return `[${errnoName(this.errno)}] ${this.message}`;
  }
}

/** One refused attribute: path (null for a whole object), sentence, errno. */
export type ArgumentError = readonly [attribute: string | null, message: string, errno: number];

/** Invalid arguments; JSON-RPC code -32602. A single error has no line end in its reason. */
export class ArgumentsError extends Error {
  override readonly name: 'ValidationErrors' | 'ValidationError' | 'InstanceNotFound';
  readonly refusals: readonly ArgumentError[];

  constructor(rejections: readonly ArgumentError[], name: ArgumentsError['name'] = 'ValidationErrors') {
    super(rejections.map(([attribute, message]) => `${attribute}: ${message}`).join('; '));
    this.refusals = rejections;
    this.name = name;
  }

  get reason(): string {
    const lines = this.refusals.map(([path, text, errno]) => `[${errnoName(errno)}] ${path ?? 'None'}: ${text}`);
    return this.name === 'ValidationErrors' ? lines.map((line) => `${line}\n`).join('') : lines.join('\n');
  }
}

type InstanceKind =
  | 'ApiKey'
  | 'Group'
  | 'Interface'
  | 'Pool'
  | 'PoolDataset'
  | 'PoolSnapshot'
  | 'Privilege'
  | 'User'
  | 'VM'
  | 'VMDevice';

/** `get_instance`, `update` and `delete` of an unknown object. */
export function instanceNotFound(kind: InstanceKind, id: unknown): ArgumentsError {
  return new ArgumentsError([[null, `${kind} ${id} does not exist`, errnos.ENOENT]], 'InstanceNotFound');
}

/** Any other Python exception: errno 22 and its own text. */
export class PythonException extends Error {
  override readonly name: string;

  constructor(name: string, message = '') {
    super(message);
    this.name = name;
  }

  get repr(): string {
    return `${this.name}(${this.message ? JSON.stringify(this.message) : ''})`;
  }
}

/** A query with `get: true` without a match. Not ENOENT: errno 22, and only the text tells them apart. */
export function noMatchFound(): PythonException {
  return new PythonException('MatchNotFound');
}

/** Collects errors as the middleware does, so that one answer lists them all. */
export class ArgumentErrors {
  readonly #list: ArgumentError[] = [];

  add(attribute: string | null, message: string, errno: number = errnos.EINVAL): void {
    this.#list.push([attribute, message, errno]);
  }

  get any(): boolean {
    return this.#list.length > 0;
  }

  /** Throws when the list is not empty. */
  check(): void {
    if (this.any) throw new ArgumentsError([...this.#list]);
  }
}
