import type { ArithmeticExpansionPart, Assignment, Command, Word, WordPart } from 'unbash';
import { ArithmeticError, evaluate } from './arithmetic.ts';
import { type Piece, splitFields } from './fields.ts';
import { isPattern, matcher, type PatternPiece } from './pattern.ts';
import { type Runner, ShellError } from './state.ts';

/** The arguments that words become: expansions, fields, paths, and quotes gone. */
export async function expandWords(runner: Runner, words: readonly Word[]): Promise<string[]> {
  const found: string[] = [];
  for (const word of words) {
    for (const field of splitFields(await expandParts(runner, word))) found.push(...toPaths(runner, field));
  }
  return found;
}

/** The arguments of a command. What `export` and `local` assign is one word each. */
export async function expandCommand(runner: Runner, { name, args }: Command): Promise<string[]> {
  const found = name ? await expandWords(runner, [name]) : [];
  for (const argument of args) {
    if (argument.type === 'Word') found.push(...(await expandWords(runner, [argument])));
    else found.push(`${argument.name}=${await expandValue(runner, argument)}`);
  }
  return found;
}

/** The value of an assignment. */
export const expandValue = async (runner: Runner, { value }: Assignment): Promise<string> =>
  value.type === 'Word' ? await expandText(runner, value) : '';

/** One word that stays one: what is assigned, where a redirection goes, what `case` looks at. */
export async function expandText(runner: Runner, word: Word): Promise<string> {
  const pieces = await expandParts(runner, word);
  return pieces.map((piece) => (piece.break ? ' ' : piece.text)).join('');
}

/** Whether a text fits a pattern, in which what was quoted stands for itself. */
export async function fits(runner: Runner, text: string, pattern: Word): Promise<boolean> {
  const pieces = await expandParts(runner, pattern);
  return matcher(pieces.filter((piece) => !piece.break)).test(text);
}

function toPaths(runner: Runner, field: readonly PatternPiece[]): string[] {
  const paths = isPattern(field) ? runner.glob(field) : [];
  return paths.length > 0 ? paths : [field.map(({ text }) => text).join('')];
}

async function expandParts(runner: Runner, { parts, value }: Word): Promise<Piece[]> {
  if (!parts) return [literal(value)];
  const pieces: Piece[] = [];
  for (const part of parts) {
    if (part.type !== 'DoubleQuoted') pieces.push(...(await expandPart(runner, part, false)));
    // Even empty quotes make a word.
    else if (part.parts.length === 0) pieces.push(literal(''));
    else for (const inner of part.parts) pieces.push(...(await expandPart(runner, inner, true)));
  }
  return pieces;
}

const literal = (text: string): Piece => ({ text, quoted: true, split: false });

async function expandPart(runner: Runner, part: WordPart, quoted: boolean): Promise<Piece[]> {
  const expanded = (text: string): Piece[] => [{ text, quoted, split: !quoted }];
  switch (part.type) {
    case 'Glob':
      return [{ text: part.text, quoted: false, split: false }];
    case 'CommandExpansion':
      return expanded(await runner.capture(part.script?.commands ?? []));
    case 'ArithmeticExpansion':
      return expanded(await evaluateExpression(runner, part));
    case 'SimpleExpansion':
    case 'ParameterExpansion': {
      const name = part.type === 'SimpleExpansion' ? part.text.slice(1) : part.parameter;
      return name === '@' || name === '*' ? expandAll(runner, name, quoted) : expanded(parameterValue(runner, name));
    }
    default:
      return [literal('value' in part ? part.value : part.text)];
  }
}

async function evaluateExpression(runner: Runner, { expression, text }: ArithmeticExpansionPart): Promise<string> {
  const { state } = runner;
  const lookUp = (name: string): string => lookUpParameter(name, state) ?? '';
  try {
    return expression ? String(await evaluate(expression, { lookUp, capture: (body) => runner.capture(body) })) : '0';
  } catch (error) {
    if (!(error instanceof ArithmeticError)) throw error;
    const status = state.isBash ? 1 : 2;
    throw new ShellError(`arithmetic expression: ${error.message}: "${text.slice(3, -2)}"`, { status, ends: true });
  }
}

/** `$@` is several words where it is quoted, `$*` is one. Both are split again where they are not. */
function expandAll({ state: { positional } }: Runner, name: '@' | '*', quoted: boolean): Piece[] {
  if (quoted && name === '*') return [{ text: positional.join(' '), quoted, split: false }];
  return positional.flatMap((text, at): Piece[] => [
    ...(at > 0 ? [{ text: '', quoted: false, split: false, break: true as const }] : []),
    { text, quoted, split: !quoted },
  ]);
}

/** The value of a parameter. With `set -u` one that is not set ends the shell. */
function parameterValue({ state }: Runner, name: string): string {
  const value = lookUpParameter(name, state);
  if (value !== undefined || !state.endsWhenUnset) return value ?? '';
  const shown = state.isBash && /^[0-9]+$/.test(name) ? `$${name}` : name;
  const message = `${shown}: ${state.isBash ? 'unbound variable' : 'parameter not set'}`;
  throw new ShellError(message, { status: state.isBash ? 127 : 2, ends: true });
}

function lookUpParameter(name: string, state: Runner['state']): string | undefined {
  if (/^[0-9]+$/.test(name)) return name === '0' ? state.name : state.positional[Number(name) - 1];
  switch (name) {
    case '?':
      return String(state.status);
    case '$':
      return String(state.pid);
    case '!':
      return state.lastJob === undefined ? undefined : String(state.lastJob);
    case '#':
      return String(state.positional.length);
    default:
      return state.get(name);
  }
}
