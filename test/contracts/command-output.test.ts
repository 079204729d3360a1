import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { projectRoot } from '../setup/generated-files.ts';

it('a command whose reader has closed the pipe ends quietly, as a shell reports it', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts', 'help'], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // As `| head` does after its last line: the pipe has no reader from now on.
  child.stdout.destroy();
  let messages = '';
  child.stderr.on('data', (chunk) => {
    messages += chunk;
  });
  const [code] = await once(child, 'close');
  expect({ code, messages }).toEqual({ code: 141, messages: '' });
});
