/** Fields of one log line. Values are printed as JSON; a {@link Secret} prints as `[secret]`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * The part of pino that we use. Messages are constant; what varies goes into fields.
 * `log.info({ machine, step, seconds }, 'step waits')`
 */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Log;
}

const noop = () => {};

/** A log that says nothing, for tests and for callers that have none. */
export const noLog: Log = { debug: noop, info: noop, warn: noop, error: noop, child: () => noLog };
