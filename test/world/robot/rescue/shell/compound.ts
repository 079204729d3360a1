import type { Case, CompoundCommand, CompoundList, For, If, While } from 'unbash';
import { expandText, expandWords, fits } from './expand.ts';
import { LoopJump } from './jumps.ts';
import type { Shell } from './shell.ts';

/** Runs a command that is made of commands, in the shell itself where it is no subshell. */
export async function runCompound(shell: Shell, command: CompoundCommand | CompoundList): Promise<void> {
  switch (command.type) {
    case 'BraceGroup':
      return void (await shell.runList(command.body.commands));
    case 'Subshell':
      shell.state.status = await shell.runSubshell(command.body.commands);
      return;
    case 'If':
      return await runIf(shell, command);
    case 'While':
      return await runLoop(shell, command);
    case 'For':
      return await runFor(shell, command);
    case 'Case':
      return await runCase(shell, command);
    default:
      throw new Error(`${command.type} is refused when a script is parsed`);
  }
}

async function runIf(shell: Shell, command: If): Promise<void> {
  for (const { clause, then: body } of [command, ...command.elif]) {
    if ((await shell.runList(clause.commands)) !== 0) continue;
    await shell.runList(body.commands);
    return;
  }
  shell.state.status = 0;
  if (command.else) await shell.runList(command.else.commands);
}

async function runLoop(shell: Shell, { kind, clause, body }: While): Promise<void> {
  let status = 0;
  for (;;) {
    // A loop of builtins waits for nothing: other processes would never get their turn.
    await new Promise((resolve) => setImmediate(resolve));
    shell.process.signal.throwIfAborted();
    const goesOn = await runTurn(shell, async () => {
      const holds = (await shell.runList(clause.commands)) === 0;
      if (holds === (kind === 'until')) return false;
      status = await shell.runList(body.commands);
      return true;
    });
    if (!goesOn) break;
  }
  shell.state.status = status;
}

async function runFor(shell: Shell, { name, wordlist, body }: For): Promise<void> {
  const values = wordlist ? await expandWords(shell, wordlist) : [...shell.state.positional];
  shell.state.status = 0;
  for (const value of values) {
    shell.process.signal.throwIfAborted();
    shell.state.set(name.value, value);
    const goesOn = await runTurn(shell, async () => {
      await shell.runList(body.commands);
      return true;
    });
    if (!goesOn) return;
  }
}

/** One turn of a loop; false when the loop is over. */
async function runTurn(shell: Shell, work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LoopJump)) throw error;
    error.levels -= 1;
    if (error.levels > 0) throw error;
    shell.state.status = 0;
    return error.kind === 'continue';
  }
}

async function runCase(shell: Shell, { word, items }: Case): Promise<void> {
  const text = await expandText(shell, word);
  shell.state.status = 0;
  for (const { pattern, body } of items) {
    for (const one of pattern) {
      if (!(await fits(shell, text, one))) continue;
      await shell.runList(body.commands);
      return;
    }
  }
}
