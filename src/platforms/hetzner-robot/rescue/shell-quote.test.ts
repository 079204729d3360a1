import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { createRescueFixture } from '../../../../test/world/robot/rescue/rescue-fixture.ts';
import { shellQuote, toShellCommand, toShellScript } from './shell-quote.ts';

const hostile = [
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

/** Each word on a line of its own, with an end that shows what is before it. */
const script = 'for word in "$@"; do printf "%s|\\n" "$word"; done';
const expected = hostile.map((word) => `${word}|\n`).join('');

describe('what a shell makes of a quoted word is the word', () => {
  it.each(['dash', 'bash'])("of the world's %s", async (shell) => {
    const inner = `exec ${toShellCommand(shell, '-c', script, shell, ...hostile)}`;
    expect((await box.sh(inner)).stdout).toBe(expected);
  });

  it('P25: through the shell of sshd and another one', async () => {
    expect((await box.sh(toShellScript(script, ...hostile))).stdout).toBe(expected);
  });

  it('once more, when it is a word of a quoted command', async () => {
    const outer = toShellCommand('sh', '-c', toShellScript(script, ...hostile));
    expect((await box.sh(outer)).stdout).toBe(expected);
  });

  it.each(['sh', 'bash', 'dash'])('of the real %s, where there is one', (shell) => {
    const { error, stdout } = spawnSync(shell, ['-c', toShellScript(script, ...hostile)], { encoding: 'utf8' });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return;
    expect(stdout).toBe(expected);
  });
});

it('no word can hold a NUL: what follows it would be lost', () => {
  expect(() => shellQuote('sda\0')).toThrow(TypeError);
});
