import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import type { Dialect } from '../shell/ast.ts';
import { Exit } from '../shell/jumps.ts';
import { setOptions } from '../shell/set.ts';
import { Shell } from '../shell/shell.ts';
import { State } from '../shell/state.ts';

/** `sh` and `bash`: a script after `-c`, from a file, or from standard input. */
const shell =
  (dialect: Dialect): RescueProgram =>
  async (process) => {
    const words = process.args.slice(1);
    const options: string[] = [];
    let isCommand = false;
    while (/^[-+]./.test(words[0] ?? '')) {
      const word = words.shift() ?? '';
      if (word === '--') break;
      if (/^--/.test(word) || word === '-l' || word === '-s') continue;
      if (word.startsWith('-') && word.includes('c')) isCommand = true;
      const letters = word.replace(/[cils]/g, '');
      if (letters.length > 1) options.push(letters);
      if (letters.endsWith('o')) options.push(words.shift() ?? '');
    }
    const name = process.args[0] ?? dialect;
    const script = isCommand ? words.shift() : words[0];
    const state = new State(dialect, (isCommand ? words.shift() : words.shift()) ?? name, process.id);
    state.positional = words;
    prepare(state, process);
    const runner = new Shell(process, state);
    try {
      if (options.length > 0) await setOptions(runner, ['set', ...options]);
      // Options at the beginning leave the arguments alone.
      state.positional = words;
      return await runner.runScript(await readScript(process, script, isCommand));
    } catch (error) {
      if (error instanceof Exit) return error.status;
      if (error instanceof NoScript) return await process.fail(error.message, 127);
      throw error;
    }
  };

class NoScript extends Error {}

async function readScript(process: RescueProcess, script: string | undefined, isCommand: boolean): Promise<string> {
  if (isCommand) return script ?? '';
  if (script === undefined) return (await process.readAll()).toString('latin1');
  try {
    return (await process.readFile(script)).toString('latin1');
  } catch (error) {
    if (error instanceof Errno) throw new NoScript(`${script}: ${error.message}`);
    throw error;
  }
}

function prepare(state: State, process: RescueProcess): void {
  for (const [name, value] of process.environment)
    state.variables.set(name, { value, exported: true, readOnly: false });
  state.set('IFS', ' \t\n');
  state.set('PWD', process.cwd);
  if (state.isBash) state.set('BASH_VERSION', '5.2.15(1)-release');
}

export const shells: Readonly<Record<string, RescueProgram>> = {
  sh: shell('dash'),
  dash: shell('dash'),
  bash: shell('bash'),
};
