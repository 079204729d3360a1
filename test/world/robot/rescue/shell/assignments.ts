import type { Assignment, Word } from './ast.ts';
import { expandArithmetic, expandText, expandWords } from './expand.ts';
import type { Shell } from './shell.ts';

/** Sets variables for one command. Answers with how to take them back. */
export async function assignFor(
  shell: Shell,
  assignments: readonly Assignment[],
  keeps: boolean,
  exports = false,
): Promise<() => void> {
  const { variables } = shell.state;
  const before = assignments.map(({ name }) => [name, variables.get(name)] as const);
  for (const assignment of assignments) {
    if (!keeps) {
      const old = variables.get(assignment.name);
      if (old) variables.set(assignment.name, { ...old });
    }
    await assign(shell, assignment);
    const variable = variables.get(assignment.name);
    if (variable && (exports || !keeps)) variable.exported = true;
  }
  if (keeps) return () => {};
  return () => {
    for (const [name, variable] of before) {
      if (variable) variables.set(name, variable);
      else variables.delete(name);
    }
  };
}

/** Carries out one assignment. */
export async function assign(shell: Shell, { name, index, append, value }: Assignment): Promise<void> {
  const { state } = shell;
  if (!Array.isArray(value) && 'list' in value) {
    const words = await expandWords(shell, value.list);
    const old = state.variables.get(name)?.value;
    state.set(name, append ? [...(old === undefined ? [] : [old].flat()), ...words] : words);
    return;
  }
  const text = await expandText(shell, value as Word);
  if (index) {
    const old = state.variables.get(name)?.value;
    const list = old === undefined ? [] : [old].flat();
    const at = Number(await expandArithmetic(shell, index));
    list[at] = append ? `${list[at] ?? ''}${text}` : text;
    state.set(name, list);
  } else state.set(name, append ? `${state.get(name) ?? ''}${text}` : text);
}
