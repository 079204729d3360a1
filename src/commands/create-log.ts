import { pino, stdSerializers, stdTimeFunctions } from 'pino';
import { retryPolicyOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { LogSettings } from './flags/common-settings.ts';

/** The target of finished lines, e.g. `process.stderr`. */
export interface LogSink {
  write(line: string): unknown;
}

/**
 * The log of the process: one line per event, as JSON or as text. Levels are words and times are RFC 3339. A
 * `SecretString` prints as `[secret]`, because it serializes itself that way.
 */
export function createLog(settings: LogSettings, sink: LogSink): Log {
  const describeError = (error: unknown) => {
    if (!(error instanceof Error)) return error;
    const { stack, ...others } = stdSerializers.err(error);
    const rest = { ...others, message: joinMessages(error) };
    // The stack only helps with unexpected errors.
    return settings.stacks && retryPolicyOf(error) === 'bug' ? { ...rest, stack } : rest;
  };
  return pino(
    {
      level: settings.verbosity,
      base: null,
      timestamp: settings.timestamps ? stdTimeFunctions.isoTime : false,
      messageKey: 'message',
      formatters: { level: (level) => ({ level }) },
      serializers: { error: describeError, err: describeError },
    },
    settings.format === 'json' ? sink : { write: (line: string) => sink.write(formatTextLine(line)) },
  );
}

/** The messages of an error and its causes. Many errors contain the message of their cause: each is shown once. */
function joinMessages(error: Error): string {
  const [seen, messages] = [new Set<unknown>(), [] as string[]];
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    const { message } = at;
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message);
  }
  return messages.reduce((text, message) => `${text}${/[.!?]$/.test(text) ? ' ' : ': '}${message}`);
}

/** `TIME LEVEL message  key=value …`, with a stack on separate lines. */
function formatTextLine(line: string): string {
  const { time, level, message, error, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const { stack, ...about } = isRecord(error) ? error : {};
  const shown = { ...fields, ...(error !== undefined && { error: about['message'] ?? error }) };
  const rest = Object.entries(shown).map(([key, value]) => `${key}=${formatValue(value)}`);
  const head = [time, String(level).toUpperCase().padEnd(5), message].filter((part) => part !== undefined);
  const first = rest.length > 0 ? `${head.join(' ')}  ${rest.join(' ')}` : head.join(' ');
  return typeof stack === 'string' ? `${first}\n${stack.replace(/^/gm, '    ')}\n` : `${first}\n`;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Plain where the value is unambiguous, JSON elsewhere. */
const formatValue = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
