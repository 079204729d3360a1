import type { CompoundCommand } from './ast.ts';
import { expandText, expandWords, fits } from './expand.ts';
import { LoopJump } from './jumps.ts';
import type { Shell } from './shell.ts';

type CommandOf<Kind extends CompoundCommand['kind']> = Extract<CompoundCommand, { kind: Kind }>;

/** Runs a command that is made of commands, in the shell itself where it is no subshell. */
export async function runCompound(shell: Shell, command: CompoundCommand): Promise<void> {
  switch (command.kind) {
    case 'group':
      return void (await shell.runList(command.body));
    case 'subshell':
      shell.state.status = await shell.runSubshell(command.body);
      return;
    case 'if':
      return await runIf(shell, command);
    case 'loop':
      return await runLoop(shell, command);
    case 'for':
      return await runFor(shell, command);
    case 'case':
      return await runCase(shell, command);
  }
}

async function runIf(shell: Shell, { branches, otherwise }: CommandOf<'if'>): Promise<void> {
  for (const { condition, body } of branches) {
    if ((await shell.runList(condition)) !== 0) continue;
    await shell.runList(body);
    return;
  }
  shell.state.status = 0;
  if (otherwise) await shell.runList(otherwise);
}

async function runLoop(shell: Shell, { until, condition, body }: CommandOf<'loop'>): Promise<void> {
  let status = 0;
  for (;;) {
    // A loop of builtins waits for nothing: other processes would never get their turn.
    await new Promise((resolve) => setImmediate(resolve));
    shell.process.signal.throwIfAborted();
    const goesOn = await runTurn(shell, async () => {
      const holds = (await shell.runList(condition)) === 0;
      if (holds === until) return false;
      status = await shell.runList(body);
      return true;
    });
    if (!goesOn) break;
  }
  shell.state.status = status;
}

async function runFor(shell: Shell, { name, words, body }: CommandOf<'for'>): Promise<void> {
  const values = words ? await expandWords(shell, words) : [...shell.state.positional];
  shell.state.status = 0;
  for (const value of values) {
    shell.process.signal.throwIfAborted();
    shell.state.set(name, value);
    const goesOn = await runTurn(shell, async () => {
      await shell.runList(body);
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

async function runCase(shell: Shell, { subject, branches }: CommandOf<'case'>): Promise<void> {
  const text = await expandText(shell, subject);
  shell.state.status = 0;
  for (const { patterns, body } of branches) {
    for (const pattern of patterns) {
      if (!(await fits(shell, text, pattern))) continue;
      await shell.runList(body);
      return;
    }
  }
}
