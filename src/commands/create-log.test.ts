import { expect, test } from 'vitest';
import { ProviderError } from '../lib/errors.ts';
import { SecretString } from '../lib/secret-string.ts';
import { createLog } from './create-log.ts';
import type { LogSettings } from './flags/common-settings.ts';

function capture(settings: Partial<LogSettings> = {}) {
  const lines: string[] = [];
  const log = createLog(
    { verbosity: 'info', format: 'json', timestamps: false, stacks: true, ...settings },
    { write: (line) => lines.push(line) },
  );
  return { log, lines };
}

test.each(['json', 'text'] as const)('a secret never shows in %s, at any depth', (format) => {
  const { log, lines } = capture({ format });
  const secret = new SecretString('hunter2');
  log.child({ secret }).info({ secret, nested: { list: [secret] } }, 'credentials read');
  log.error({ error: new Error('no', { cause: { secret } }) }, 'failed');
  expect(lines.join('')).toContain('[secret]');
  expect(lines.join('')).not.toContain('hunter2');
});

test('json lines hold the level as a word, the message and the fields', () => {
  const { log, lines } = capture();
  log.child({ controller: 'machine' }).warn({ step: 'ensure-vm' }, 'step failed');
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    controller: 'machine',
    step: 'ensure-vm',
    message: 'step failed',
  });
});

test('nothing below the configured level is written', () => {
  const { log, lines } = capture({ verbosity: 'error' });
  log.info({}, 'x');
  log.warn({}, 'x');
  expect(lines).toEqual([]);
});

test('text output reads like a sentence with its fields', () => {
  const { log, lines } = capture({ format: 'text' });
  log.info({ machine: 'a-cp-0', why: 'two words' }, 'step waits');
  expect(lines).toEqual(['INFO  step waits  machine=a-cp-0 why="two words"\n']);
});

test('a reported error message stays a sentence', () => {
  for (const format of ['json', 'text'] as const) {
    const { log, lines } = capture({ format });
    log.warn({ error: 'no connection' }, 'watch failed');
    expect(lines[0]).toContain(format === 'json' ? '"error":"no connection"' : 'error="no connection"');
  }
});

test('an error is told with its causes, and no message twice', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');
  const unanswered = new ProviderError('UNREACHABLE', '127.0.0.1:1 (ECONNREFUSED).', { cause: refused });
  const error = new ProviderError('CONFIG_INVALID', 'Call: GET /server.', {
    cause: new Error(unanswered.message, { cause: unanswered }),
  });
  refused.cause = error;
  const { log, lines } = capture({ format: 'text' });
  log.error({ error }, 'failed');
  expect(lines[0]).toContain(JSON.stringify(`${error.message} ${unanswered.message} ${refused.message}`));
});

test('an error with a code has no stack, an unexpected error has one', () => {
  const { log, lines } = capture({ format: 'text' });
  log.error({ error: new ProviderError('CONFIG_INVALID', 'Say so.') }, 'failed');
  log.error({ error: new TypeError('oops') }, 'failed');
  expect(lines[0]).toBe('ERROR failed  error="The configuration is not valid. Say so."\n');
  expect(lines[1]).toMatch(/error=oops\n +TypeError: oops\n +at /);
});

test('stacks can be left out', () => {
  const { log, lines } = capture({ stacks: false });
  log.error({ error: new TypeError('oops') }, 'failed');
  expect(lines[0]).not.toContain('create-log.test.ts');
});
