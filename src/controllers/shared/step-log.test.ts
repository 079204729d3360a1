import { expect, it } from 'vitest';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { logStepError, logStepRecovery } from './step-log.ts';

function recordingLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: () => {}, info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return { log, lines };
}
const step = 'disk-created';

it('a step that fails for an hour is logged at the beginning, at every tenth failure, and at the end', () => {
  const { log, lines } = recordingLog();
  const error = new ProviderError('UNREACHABLE', 'It does not answer.');
  for (let failures = 1; failures <= 12; failures += 1) {
    logStepRecovery(log, { step, failures: failures - 1 }, { step, failures });
    logStepError(log, error, { step, failures });
  }
  logStepRecovery(log, { step, failures: 12 }, { step, failures: 0 });
  logStepRecovery(log, { step, failures: 0 }, { step: 'seed-written', failures: 0 });
  expect(lines).toEqual([
    'warn step failed, is tried again {"step":"disk-created","code":"UNREACHABLE","failures":1}',
    'warn step failed, is tried again {"step":"disk-created","code":"UNREACHABLE","failures":11}',
    'info step works again {"step":"disk-created","failures":12}',
  ]);
});

it('a bug is logged each time', () => {
  const { log, lines } = recordingLog();
  for (const failures of [1, 2]) logStepError(log, new TypeError('x'), { step, failures });
  expect(lines).toHaveLength(2);
});
