import { expect, it } from 'vitest';
import type { Log } from './log.ts';
import { ProblemLog } from './problem-log.ts';

it('logs the beginning and the end of a problem once, and every attempt for those who debug', () => {
  const lines: string[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  const problems = new ProblemLog(log, 'it fails', 'it works again');
  problems.succeeded();
  for (const attempt of [1, 2, 3]) problems.failed({ attempt });
  problems.succeeded();
  problems.succeeded();
  problems.failed({ attempt: 1 });
  expect(lines).toEqual([
    'warn it fails {"attempt":1}',
    'debug it fails {"attempt":2}',
    'debug it fails {"attempt":3}',
    'info it works again {}',
    'warn it fails {"attempt":1}',
  ]);
});
