/** An error in Robot's envelope. */
export class RobotError extends Error {
  readonly status: number;
  readonly code: string;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, extra: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.extra = extra;
  }

  get body(): object {
    return errorEnvelope(this.status, this.code, this.message, this.extra);
  }
}

export const errorEnvelope = (status: number, code: string, message: string, extra: object = {}): object => ({
  error: { status, code, message, ...extra },
});

/** 404 in the words of each kind of object. */
export const notFoundRobotError = (code = 'NOT_FOUND', message = 'not found'): RobotError =>
  new RobotError(404, code, message);
export const conflictRobotError = (code: string, message: string): RobotError => new RobotError(409, code, message);

/** Names of missing parameters, and of invalid ones; null: none. */
export function invalidInputError({ missing, invalid }: { missing?: string[]; invalid?: string[] } = {}): RobotError {
  const list = (names: string[] | undefined): string[] | null => (names && names.length > 0 ? names : null);
  return new RobotError(400, 'INVALID_INPUT', 'invalid input', { missing: list(missing), invalid: list(invalid) });
}
