import { ArithmeticError, evaluate } from './arithmetic.ts';
import type { Parameter, Part, Word } from './ast.ts';
import { expandBraces } from './braces.ts';
import { splitFields } from './fields.ts';
import { isPattern, matcher, type PatternPiece, patternSource, trim } from './pattern.ts';
import { type Runner, ShellError } from './state.ts';

/** A piece of an expanded word. `split`: it came out of an expansion without quotes. `break`: another word begins. */
export interface Piece {
  readonly text: string;
  readonly quoted: boolean;
  readonly split: boolean;
  readonly break?: true;
}

const hard = (text: string): Piece => ({ text, quoted: true, split: false });

/** The arguments that words become: braces, expansions, fields, paths, and quotes gone. */
export async function expandWords(runner: Runner, words: readonly Word[]): Promise<string[]> {
  const found: string[] = [];
  for (const word of words) {
    for (const one of runner.state.isBash ? expandBraces(word) : [word]) {
      const fields = splitFields(await expandParts(runner, one, true), runner.state.get('IFS'));
      for (const field of fields) found.push(...toPaths(runner, field));
    }
  }
  return found;
}

/** The arguments of a command. What `export` and its like assign is one word each. */
export async function expandCommand(runner: Runner, words: readonly Word[]): Promise<string[]> {
  const [first] = words;
  const name = first?.length === 1 && first[0]?.kind === 'text' && !first[0].quoted ? first[0].text : '';
  const declares = ['export', 'readonly', 'local', 'declare', 'typeset'].includes(name);
  if (!declares) return await expandWords(runner, words);
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
  const pieces = await expandParts(runner, word, true);
  return pieces.map((chunk) => (chunk.break ? ' ' : chunk.text)).join('');
}

/** A pattern: what was quoted stands for itself. */
export const expandPattern = async (runner: Runner, word: Word): Promise<PatternPiece[]> =>
  (await expandParts(runner, word, true)).filter((chunk) => !chunk.break);

/** The value of an arithmetic expression. */
export async function expandArithmetic(runner: Runner, expression: Word): Promise<bigint> {
  const text = await expandText(runner, expression);
  const { state } = runner;
  try {
    return evaluate(text, {
      get: (name) => state.get(name) ?? '',
      set: (name, value) => state.set(name, value),
      steps: state.isBash,
    });
  } catch (error) {
    if (!(error instanceof ArithmeticError)) throw error;
    if (state.isBash) throw new ShellError(`${text.trim()}: ${error.message}`, { ends: true });
    throw new ShellError(`arithmetic expression: ${error.message}: "${text}"`, { status: 2, ends: true });
  }
}

function toPaths(runner: Runner, field: readonly PatternPiece[]): string[] {
  const text = field.map((chunk) => chunk.text).join('');
  if (runner.state.options.noglob || !isPattern(field)) return [text];
  const paths = runner.glob(field);
  return paths.length > 0 ? paths : [text];
}

async function expandParts(runner: Runner, word: Word, mayTilde = false): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const [index, part] of word.entries()) {
    if (mayTilde && index === 0 && part.kind === 'text' && !part.quoted && /^~(?=\/|$)/.test(part.text)) {
      const isWhole = part.text.length > 1 || word.length === 1;
      if (isWhole) {
        pieces.push(hard(runner.state.get('HOME') ?? '/root'), {
          text: part.text.slice(1),
          quoted: false,
          split: false,
        });
        continue;
      }
    }
    pieces.push(...(await expandPart(runner, part)));
  }
  return pieces;
}

async function expandPart(runner: Runner, part: Part): Promise<Piece[]> {
  switch (part.kind) {
    case 'text':
      return [{ text: part.text, quoted: part.quoted, split: false }];
    case 'command': {
      const text = await runner.capture(part.body);
      return [{ text, quoted: part.quoted, split: !part.quoted }];
    }
    case 'arithmetic': {
      const value = await expandArithmetic(runner, part.expression);
      return [{ text: String(value), quoted: part.quoted, split: !part.quoted }];
    }
    case 'process':
      return [hard(runner.openProcess(part.direction, part.body))];
    case 'parameter':
      return await expandParameter(runner, part);
  }
}

async function expandParameter(runner: Runner, part: Parameter): Promise<Piece[]> {
  const { state } = runner;
  if (part.bad !== undefined) {
    throw new ShellError(state.isBash ? `${part.bad}: bad substitution` : 'Bad substitution', {
      status: state.isBash ? 1 : 2,
      ends: !state.isBash,
    });
  }
  const { quoted } = part;
  const soft = (text: string): Piece => ({ text, quoted, split: !quoted });
  const index = part.index ? await expandText(runner, part.index) : undefined;
  const name = part.indirect ? (valueFor(runner, part.name, index) ?? '') : part.name;
  if (name === '@' || name === '*' || index === '@' || index === '*') {
    return await expandAll(runner, part, name, index);
  }
  const value = valueFor(runner, name, part.indirect ? undefined : await position(runner, index));
  if (part.length) return [soft(String((value ?? missing(runner, name)).length))];
  const decided = await applyDefault(runner, part, name, value);
  if (decided) return decided;
  if (value === undefined) missing(runner, name);
  return [soft(await transform(runner, part, value ?? ''))];
}

/** Subscripts of arrays are arithmetic. */
async function position(runner: Runner, index: string | undefined): Promise<string | undefined> {
  if (index === undefined) return undefined;
  return String(await expandArithmetic(runner, [{ kind: 'text', text: index, quoted: true }]));
}

/** `$@`, `$*` and whole arrays: several words where they are quoted, and split again where they are not. */
async function expandAll(runner: Runner, part: Parameter, name: string, index: string | undefined): Promise<Piece[]> {
  const { state } = runner;
  const isArray = index === '@' || index === '*';
  const stored = isArray ? state.variables.get(name)?.value : undefined;
  const values = isArray ? (stored === undefined ? pipeStatus(runner, name) : [stored].flat()) : state.positional;
  if (part.length) return [{ text: String(values.length), quoted: part.quoted, split: !part.quoted }];
  const joined = values.length === 0 ? undefined : values.join(' ');
  const decided = await applyDefault(runner, part, name, joined);
  if (decided) return decided;
  const isStar = name === '*' || index === '*';
  const changed: string[] = [];
  for (const value of slice(
    part.operator === ':' ? await bounds(runner, part) : undefined,
    values,
    isArray,
    state.name,
  )) {
    changed.push(part.operator === ':' ? value : await transform(runner, part, value));
  }
  if (part.quoted && isStar) {
    const separator = state.get('IFS') === undefined ? ' ' : (state.get('IFS') ?? '').slice(0, 1);
    return [hard(changed.join(separator))];
  }
  return changed.flatMap((text, at): Piece[] => [
    ...(at > 0 ? [{ text: '', quoted: false, split: false, break: true as const }] : []),
    { text, quoted: part.quoted, split: !part.quoted },
  ]);
}

const pipeStatus = (runner: Runner, name: string): string[] =>
  name === 'PIPESTATUS' && runner.state.isBash ? runner.state.pipeStatus.map(String) : [];

async function bounds(runner: Runner, part: Parameter): Promise<{ offset: number; length: number | undefined }> {
  const offset = Number(await expandArithmetic(runner, part.word ?? []));
  const length = part.second ? Number(await expandArithmetic(runner, part.second)) : undefined;
  return { offset, length };
}

function slice(
  cut: { offset: number; length: number | undefined } | undefined,
  values: readonly string[],
  isArray: boolean,
  shellName: string,
): readonly string[] {
  if (!cut) return values;
  const all = isArray ? values : [shellName, ...values];
  const begin = cut.offset < 0 ? all.length + cut.offset : cut.offset;
  return all.slice(begin, cut.length === undefined ? undefined : begin + cut.length);
}

/** `-`, `=`, `?`, `+` and their forms with a colon. Undefined: none of them decides. */
async function applyDefault(
  runner: Runner,
  part: Parameter,
  name: string,
  value: string | undefined,
): Promise<Piece[] | undefined> {
  const kind = part.operator.replace(':', '');
  if (!['-', '=', '?', '+'].includes(kind)) return undefined;
  const isSet = part.operator.startsWith(':') ? value !== undefined && value !== '' : value !== undefined;
  if (kind === '+') return isSet ? await operand(runner, part) : part.quoted ? [hard('')] : [];
  if (isSet) return undefined;
  if (kind === '-') return await operand(runner, part);
  const text = await expandText(runner, part.word ?? []);
  if (kind === '=') {
    runner.state.set(name, text);
    return [{ text, quoted: part.quoted, split: !part.quoted }];
  }
  const isNull = part.operator.startsWith(':');
  const usual = runner.state.isBash
    ? isNull
      ? 'parameter null or not set'
      : 'parameter not set'
    : isNull
      ? 'parameter not set or null'
      : 'parameter not set';
  const status = fatalStatus(runner);
  throw new ShellError(`${name}: ${part.word?.length ? text : usual}`, { status, ends: true });
}

/** The word of a default: unquoted text in it is split as what came out of an expansion. */
async function operand(runner: Runner, part: Parameter): Promise<Piece[]> {
  const pieces = await expandParts(runner, part.word ?? [], !part.quoted);
  if (part.quoted)
    return pieces.length > 0 ? pieces.map((chunk) => ({ ...chunk, quoted: true, split: false })) : [hard('')];
  return pieces.map((chunk) => (chunk.quoted ? chunk : { ...chunk, split: true }));
}

async function transform(runner: Runner, part: Parameter, value: string): Promise<string> {
  const { operator, word = [], second = [] } = part;
  if (operator === '' || /^:?[-=?+]$/.test(operator)) return value;
  if (operator === '#' || operator === '##' || operator === '%' || operator === '%%') {
    return trim(value, await expandPattern(runner, word), operator);
  }
  if (operator.startsWith('/')) {
    return replace(operator, value, await expandPattern(runner, word), await expandText(runner, second));
  }
  if (operator === ':') {
    const { offset, length } = await bounds(runner, part);
    const begin = offset < 0 ? value.length + offset : offset;
    const end = length === undefined ? value.length : length < 0 ? value.length + length : begin + length;
    return value.slice(Math.max(0, begin), end);
  }
  if (operator === '@Q') return `'${value.replaceAll("'", "'\\''")}'`;
  if (operator.startsWith('^')) return changeCase(value, operator.length, (text) => text.toUpperCase());
  if (operator.startsWith(',')) return changeCase(value, operator.length, (text) => text.toLowerCase());
  throw new ShellError(`\${${part.name}${operator}}: bad substitution`);
}

const changeCase = (value: string, count: number, change: (text: string) => string): string =>
  count === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1);

function replace(operator: string, value: string, pattern: readonly PatternPiece[], replacement: string): string {
  const source = patternSource(pattern);
  if (source === '') return value;
  const anchored = operator === '/#' ? `^(?:${source})` : operator === '/%' ? `(?:${source})$` : source;
  return value.replace(new RegExp(anchored, operator === '//' ? 'g' : ''), () => replacement);
}

function missing(runner: Runner, name: string): string {
  if (!runner.state.options.nounset) return '';
  const { isBash } = runner.state;
  const shown = isBash && /^[0-9]+$/.test(name) ? `$${name}` : name;
  throw new ShellError(`${shown}: ${isBash ? 'unbound variable' : 'parameter not set'}`, {
    status: fatalStatus(runner),
    ends: true,
  });
}

/** With `-e` bash has another status for what ends it anyway. */
const fatalStatus = ({ state: { isBash, options } }: Runner): number => (!isBash ? 2 : options.errexit ? 1 : 127);

/** The value of a parameter, special ones included. */
function valueFor(runner: Runner, name: string, index?: string): string | undefined {
  const { state } = runner;
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
    case '-':
      return optionLetters(runner);
    case 'LINENO':
      return String(state.line);
    case 'RANDOM':
      return state.isBash ? String(Math.floor(Math.random() * 32768)) : state.get(name);
    case 'PIPESTATUS':
      return state.isBash ? String(state.pipeStatus.at(Number(index ?? 0)) ?? '') : state.get(name);
    default: {
      const value = state.variables.get(name)?.value;
      if (index === undefined) return state.get(name);
      return Array.isArray(value) ? value.at(Number(index)) : Number(index) === 0 ? value : undefined;
    }
  }
}

function optionLetters({ state: { options, isBash } }: Runner): string {
  const letters = `${options.errexit ? 'e' : ''}${options.noglob ? 'f' : ''}${options.nounset ? 'u' : ''}${options.xtrace ? 'x' : ''}`;
  return isBash ? `h${letters}Bc` : letters;
}

/** Whether a text fits a pattern, as `case` and `[[ … == … ]]` ask. */
export const fits = async (runner: Runner, text: string, pattern: Word): Promise<boolean> =>
  matcher(await expandPattern(runner, pattern)).test(text);
