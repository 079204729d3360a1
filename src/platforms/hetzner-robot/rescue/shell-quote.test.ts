import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { createRescueFixture } from '../../../../test/world/robot/rescue/rescue-fixture.ts';
import { shellQuote, toShellCommand, toShellScript } from './shell-quote.ts';

const malicious = [
  '',
  ' ',
  'plain',
  "'",
  "''",
  "it's",
  "'; reboot; '",
  '"; rm -rf / #',
  '$(reboot)',
  '`reboot`',
  '$HOME',
  '\\',
  "\\'",
  'a\nb',
  '\n',
  '\ttab',
  '-n',
  '--',
  '*',
  '/dev/*',
  '~',
  '!history',
  '{a,b}',
  '&& reboot',
  '| tee /dev/sda',
  '> /dev/sda',
  '#',
  'ünïcödé 磁盘',
  '\u0007',
  "$'\\n'",
  '%s %d \\x41',
];

const box = createRescueFixture();
afterAll(() => box.close());

/** Prints each word on a line of its own, followed by a character that shows trailing blanks. */
const script = 'for word in "$@"; do printf "%s|\\n" "$word"; done';
const expected = malicious.map((item) => `${item}|\n`).join('');

describe('a shell reads a quoted word as the original text', () => {
  it.each(['dash', 'bash'])('with the simulated %s', async (shell) => {
    const inner = `exec ${toShellCommand(shell, '-c', script, shell, ...malicious)}`;
    expect((await box.sh(inner)).stdout).toBe(expected);
  });

  it('P25: through the shell of sshd and another one', async () => {
    expect((await box.sh(toShellScript(script, ...malicious))).stdout).toBe(expected);
  });

  it('when quoted twice, as a word of a quoted command', async () => {
    const outer = toShellCommand('sh', '-c', toShellScript(script, ...malicious));
    expect((await box.sh(outer)).stdout).toBe(expected);
  });

  it.each(['sh', 'bash', 'dash'])('with the real %s, where it is installed', (shell) => {
    const { error, stdout } = spawnSync(shell, ['-c', toShellScript(script, ...malicious)], { encoding: 'utf8' });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return;
    expect(stdout).toBe(expected);
  });
});

it('a word with NUL is refused: the rest would be lost', () => {
  expect(() => shellQuote('sda\0')).toThrow(TypeError);
});
