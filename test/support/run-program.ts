import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectRoot } from '../setup/generated-files.ts';

/** Set by `npm test` to its fresh build; a test that runs alone uses the source, which loads more slowly. */
const built = process.env['BUILT_PROGRAM'];
const program = built === undefined ? ['--import', 'tsx', 'src/main.ts'] : [built];

export interface ProgramResult {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of the program to its end, in a process whose environment only has PATH. */
export async function runProgram(...words: readonly string[]): Promise<ProgramResult> {
  const child = spawn(process.execPath, [...program, ...words], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}
