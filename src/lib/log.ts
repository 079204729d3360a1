/** Fields of one log line. Values are printed as JSON; a {@link SecretString} prints as `[secret]`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * The subset of pino's interface that the provider uses. Messages are constant; variable values go into fields:
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

/** A log that writes nothing, for tests and for callers without a log. */
export const noLog: Log = { debug: noop, info: noop, warn: noop, error: noop, child: () => noLog };
