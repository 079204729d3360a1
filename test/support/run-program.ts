import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectRoot } from '../setup/generated-files.ts';

/** As `npm test` has built it just now; a test that is run by itself takes the source, which is longer to load. */
const built = process.env['BUILT_PROGRAM'];
const program = built === undefined ? ['--import', 'tsx', 'src/main.ts'] : [built];

export interface ProgramResult {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of the program to its end, as a process that knows nothing of our environment but the path. */
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
