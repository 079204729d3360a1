import { ArithmeticError, evaluate } from './arithmetic.ts';
import type { Part, Word } from './ast.ts';
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
export async function expandCommand(runner: Runner, words: readonly Word[]): Promise<string[]> {
  const [first] = words[0] ?? [];
  const name = first?.kind === 'text' && !first.quoted ? first.text : '';
  if (name !== 'export' && name !== 'local') return await expandWords(runner, words);
  const found: string[] = [];
  for (const word of words) {
    const [begin] = word;
    const isAssignment = begin?.kind === 'text' && !begin.quoted && /^[A-Za-z_][A-Za-z0-9_]*=/.test(begin.text);
    if (isAssignment) found.push(await expandText(runner, word));
    else found.push(...(await expandWords(runner, [word])));
  }
  return found;
}

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

async function expandParts(runner: Runner, word: Word): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const part of word) pieces.push(...(await expandPart(runner, part)));
  return pieces;
}

async function expandPart(runner: Runner, part: Part): Promise<Piece[]> {
  const { quoted } = part;
  switch (part.kind) {
    case 'text':
      return [{ text: part.text, quoted, split: false }];
    case 'command':
      return [{ text: await runner.capture(part.body), quoted, split: !quoted }];
    case 'arithmetic':
      return [{ text: String(await evaluateWord(runner, part.expression)), quoted, split: !quoted }];
    case 'parameter':
      return part.name === '@' || part.name === '*'
        ? expandAll(runner, part.name, quoted)
        : [{ text: parameterValue(runner, part.name), quoted, split: !quoted }];
  }
}

async function evaluateWord(runner: Runner, expression: Word): Promise<bigint> {
  const text = await expandText(runner, expression);
  const { state } = runner;
  try {
    return evaluate(text, (name) => state.get(name) ?? '');
  } catch (error) {
    if (!(error instanceof ArithmeticError)) throw error;
    const status = state.isBash ? 1 : 2;
    throw new ShellError(`arithmetic expression: ${error.message}: "${text}"`, { status, ends: true });
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
  const value = lookUp(name, state);
  if (value !== undefined || !state.endsWhenUnset) return value ?? '';
  const shown = state.isBash && /^[0-9]+$/.test(name) ? `$${name}` : name;
  const message = `${shown}: ${state.isBash ? 'unbound variable' : 'parameter not set'}`;
  throw new ShellError(message, { status: state.isBash ? 127 : 2, ends: true });
}

function lookUp(name: string, state: Runner['state']): string | undefined {
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
