import { Errno } from '../io/errno.ts';
import type { RescueProgram } from '../process.ts';
import { Exit } from '../shell/jumps.ts';
import { Shell } from '../shell/shell.ts';
import { type Dialect, State } from '../shell/state.ts';

/** `sh -c SCRIPT NAME ARGUMENT…`, or `sh FILE ARGUMENT…`. */
const shell =
  (dialect: Dialect): RescueProgram =>
  async (process) => {
    const [own = dialect, ...words] = process.args;
    if (words[0] === undefined || (words[0] !== '-c' && words[0].startsWith('-')))
      return await process.fail('only -c SCRIPT and FILE are simulated', 2);
    const isCommand = words[0] === '-c';
    const given = (isCommand ? words[1] : words[0]) ?? '';
    const [name = own, ...positional] = isCommand ? words.slice(2) : words;
    const state = new State(dialect, name, process.id);
    state.positional = positional;
    for (const [key, value] of process.environment) state.variables.set(key, { value, exported: true });
    try {
      const script = isCommand ? given : (await process.readFile(given)).toString('latin1');
      return await new Shell(process, state).runScript(script);
    } catch (error) {
      if (error instanceof Exit) return error.status;
      if (error instanceof Errno) return await process.fail(`${given}: ${error.message}`, 127);
      throw error;
    }
  };

export const shells: Readonly<Record<string, RescueProgram>> = {
  sh: shell('dash'),
  dash: shell('dash'),
  bash: shell('bash'),
};
