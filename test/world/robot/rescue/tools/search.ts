import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { commonClasses } from '../shell/classes.ts';
import { parseArguments } from './arguments.ts';
import { linesOf, readText, toText } from './text.ts';

/** A JavaScript expression for a POSIX one, basic or extended. */
export function toExpression(source: string, isExtended: boolean, flags = ''): RegExp {
  let found = '';
  for (let at = 0; at < source.length; at += 1) {
    const char = source[at] ?? '';
    const next = source[at + 1] ?? '';
    if (char === '[') {
      const end = source.indexOf(']', at + (/^\[\^?\]/.test(source.slice(at)) ? (next === '^' ? 3 : 2) : 1));
      const close = /\[:[a-z]+:$/.test(source.slice(at, end)) ? source.indexOf(']', end + 1) : end;
      const inner = source
        .slice(at + 1, close)
        .replace(/\[:([a-z]+):\]/g, (all, name: string) => commonClasses[name] ?? all);
      found += `[${inner.replaceAll('\\', '\\\\').replaceAll(/\[(?!:)/g, '\\[')}]`
        .replaceAll('\\\\s', '\\s')
        .replaceAll('\\\\t', '\\t')
        .replaceAll('\\\\/', '\\/');
      at = close;
    } else if (char === '\\' && next !== '') {
      at += 1;
      if ('(){}|+?'.includes(next)) found += isExtended ? `\\${next}` : next;
      else if (next === '<' || next === '>') found += '\\b';
      else
        found += /[1-9wWsSbB]/.test(next)
          ? `\\${next}`
          : next === 'n'
            ? '\\n'
            : next === 't'
              ? '\\t'
              : `\\${next}`.replace(/\\([a-zA-Z])/, '$1');
    } else if ('(){}|+?'.includes(char)) found += isExtended ? char : `\\${char}`;
    else if (char === '*' && (at === 0 || (!isExtended && /(?:^|\\\(|\^)$/.test(source.slice(0, at))))) found += '\\*';
    else if (char === '/') found += '\\/';
    else found += char;
  }
  return new RegExp(found, flags);
}

const grep: RescueProgram = async (process) => {
  const parsed = parseArguments(process.args.slice(1), {
    short: 'EFGPivcoqsnlLhHxwe:m:rRz',
    long: [
      'extended-regexp',
      'fixed-strings',
      'ignore-case',
      'invert-match',
      'count',
      'only-matching',
      'quiet',
      'silent',
      'no-messages',
      'line-number',
      'files-with-matches',
      'line-regexp',
      'word-regexp',
      'regexp=',
      'max-count=',
      'color?=',
    ],
    same: {
      'extended-regexp': 'E',
      'fixed-strings': 'F',
      'ignore-case': 'i',
      'invert-match': 'v',
      count: 'c',
      'only-matching': 'o',
      quiet: 'q',
      silent: 'q',
      'no-messages': 's',
      'line-number': 'n',
      'files-with-matches': 'l',
      'line-regexp': 'x',
      'word-regexp': 'w',
      regexp: 'e',
      'max-count': 'm',
    },
  });
  const { options, all } = parsed;
  const operands = [...parsed.operands];
  const given = all.filter(([name]) => name === 'e').map(([, value]) => value);
  const patterns = given.length > 0 ? given : [operands.shift() ?? ''];
  const isExtended = options.has('E') || options.has('P') || process.name === 'egrep';
  const sources = patterns.flatMap((pattern) => pattern.split('\n'));
  const expressions = sources.map((source) => {
    const plain =
      options.has('F') || process.name === 'fgrep'
        ? source.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
        : toExpression(source, isExtended).source;
    const bounded = options.has('x') ? `^(?:${plain})$` : options.has('w') ? `\\b(?:${plain})\\b` : plain;
    return new RegExp(source === '' ? '' : bounded, options.has('i') ? 'gi' : 'g');
  });
  const many = operands.length > 1 && !options.has('h');
  let found = false;
  let status = 0;
  for (const path of operands.length > 0 ? operands : ['-']) {
    const lines = await readLines(process, path, options.has('s'));
    if (!lines) {
      status = 2;
      continue;
    }
    const hits = await printHits(process, path, lines, expressions, options, many || options.has('H'));
    if (hits > 0) found = true;
    if (found && options.has('q')) return 0;
  }
  return status === 2 ? 2 : found ? 0 : 1;
};

async function readLines(process: RescueProcess, path: string, isSilent: boolean): Promise<string[] | undefined> {
  try {
    return linesOf((path === '-' ? await process.readAll() : await process.readFile(path)).toString('latin1'));
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    if (!isSilent) await process.fail(`${path}: ${error.message}`);
    return undefined;
  }
}

async function printHits(
  process: RescueProcess,
  path: string,
  lines: readonly string[],
  expressions: readonly RegExp[],
  options: ReadonlyMap<string, string>,
  withName: boolean,
): Promise<number> {
  const max = Number(options.get('m') ?? Number.POSITIVE_INFINITY);
  const prefix = withName ? `${path === '-' ? '(standard input)' : path}:` : '';
  let hits = 0;
  for (const [index, line] of lines.entries()) {
    if (hits >= max) break;
    const matches = expressions.flatMap((expression) => [...line.matchAll(expression)].map(([text]) => text));
    if (matches.length > 0 === options.has('v')) continue;
    hits += 1;
    if (['q', 'c', 'l'].some((one) => options.has(one))) continue;
    const head = `${prefix}${options.has('n') ? `${index + 1}:` : ''}`;
    if (options.has('o')) for (const match of matches.filter(Boolean)) await process.out(`${head}${match}\n`);
    else await process.out(`${head}${line}\n`);
  }
  if (options.has('c')) await process.out(`${prefix}${hits}\n`);
  if (options.has('l') && hits > 0) await process.out(`${path}\n`);
  return hits;
}

interface Address {
  readonly line?: number;
  readonly last?: true;
  readonly expression?: RegExp;
}

interface SedCommand {
  readonly from: Address | undefined;
  readonly to: Address | undefined;
  readonly negated: boolean;
  readonly letter: string;
  readonly expression?: RegExp;
  readonly replacement?: string;
  readonly prints?: boolean;
  readonly text?: string;
  active: boolean;
}

/** `sed`, as far as one line at a time needs it: `s`, `p`, `d`, `q`, `=`, `y`-less, with addresses. */
const sed: RescueProgram = async (process) => {
  const parsed = parseArguments(process.args.slice(1), {
    short: 'nEre:i',
    long: ['quiet', 'silent', 'regexp-extended', 'expression='],
    same: { quiet: 'n', silent: 'n', r: 'E', 'regexp-extended': 'E', expression: 'e' },
  });
  const operands = [...parsed.operands];
  const given = parsed.all.filter(([name]) => name === 'e').map(([, value]) => value);
  const script = given.length > 0 ? given.join('\n') : (operands.shift() ?? '');
  const commands = parseSed(script, parsed.options.has('E'));
  if (typeof commands === 'string') return await process.fail(`-e expression #1, ${commands}`);
  const { text, status } = await readText(process, operands);
  const lines = linesOf(text);
  for (const [index, line] of lines.entries()) {
    const result = runSed(commands, line, index + 1, index === lines.length - 1, !parsed.options.has('n'));
    await process.out(toText(result.output));
    if (result.quits) break;
  }
  return status;
};

function parseSed(script: string, isExtended: boolean): SedCommand[] | string {
  const commands: SedCommand[] = [];
  let at = 0;
  const address = (): Address | undefined => {
    const rest = script.slice(at);
    const number = /^\d+/.exec(rest)?.[0];
    if (number) {
      at += number.length;
      return { line: Number(number) };
    }
    if (rest.startsWith('$')) {
      at += 1;
      return { last: true };
    }
    const expression = /^\/((?:\\.|[^/\\])*)\//.exec(rest);
    if (!expression) return undefined;
    at += expression[0].length;
    return { expression: toExpression((expression[1] ?? '').replaceAll('\\/', '/'), isExtended) };
  };
  while (at < script.length) {
    at += /^[\s;}]*/.exec(script.slice(at))?.[0].length ?? 0;
    if (at >= script.length) break;
    const from = address();
    let to: Address | undefined;
    if (script[at] === ',') {
      at += 1;
      to = address();
    }
    at += /^\s*/.exec(script.slice(at))?.[0].length ?? 0;
    const negated = script[at] === '!';
    if (negated) at += 1;
    const letter = script[at] ?? '';
    at += 1;
    const head = { from, to, negated, letter, active: false };
    if (letter === 's') {
      const mark = script[at] ?? '';
      const parts = splitSed(script, at + 1, mark);
      if (!parts) return `char ${script.length}: unterminated \`s' command`;
      const flags = /^[gpiI0-9]*/.exec(script.slice(parts.end))?.[0] ?? '';
      at = parts.end + flags.length;
      const expression = toExpression(
        parts.pattern,
        isExtended,
        `${flags.includes('g') ? 'g' : ''}${/i/i.test(flags) ? 'i' : ''}`,
      );
      commands.push({ ...head, expression, replacement: parts.replacement, prints: flags.includes('p') });
    } else if ('pdq='.includes(letter) && letter !== '') commands.push(head);
    else if (letter === '{') continue;
    else return `char ${at}: unknown command: \`${letter}'`;
  }
  return commands;
}

function splitSed(
  script: string,
  begin: number,
  mark: string,
): { pattern: string; replacement: string; end: number } | undefined {
  const parts = ['', ''];
  let at = begin;
  for (let index = 0; index < 2; index += 1) {
    while (script[at] !== mark) {
      if (at >= script.length) return undefined;
      const isEscape = script[at] === '\\';
      const chunk = isEscape ? script.slice(at, at + 2) : (script[at] ?? '');
      parts[index] += chunk === `\\${mark}` ? mark : chunk;
      at += chunk.length;
    }
    at += 1;
  }
  return { pattern: parts[0] ?? '', replacement: parts[1] ?? '', end: at };
}

function runSed(
  commands: readonly SedCommand[],
  line: string,
  number: number,
  isLast: boolean,
  prints: boolean,
): { output: string[]; quits: boolean } {
  const output: string[] = [];
  let text = line;
  for (const command of commands) {
    if (selects(command, text, number, isLast) === command.negated) continue;
    if (command.letter === 'd') return { output, quits: false };
    if (command.letter === 'p') output.push(text);
    if (command.letter === '=') output.push(String(number));
    if (command.letter === 'q') return { output: prints ? [...output, text] : output, quits: true };
    if (command.letter !== 's' || !command.expression) continue;
    const changed = text.replace(command.expression, (match, ...groups: (string | number)[]) =>
      (command.replacement ?? '').replace(/\\([0-9n&\\/])|&/g, (whole, escaped: string | undefined) => {
        if (whole === '&') return match;
        if (escaped === 'n') return '\n';
        return escaped && /[0-9]/.test(escaped)
          ? escaped === '0'
            ? match
            : String(groups[Number(escaped) - 1] ?? '')
          : (escaped ?? '');
      }),
    );
    if (changed !== text && command.prints) output.push(changed);
    text = changed;
  }
  return { output: prints ? [...output, text] : output, quits: false };
}

function selects(command: SedCommand, text: string, number: number, isLast: boolean): boolean {
  const hits = (address: Address): boolean =>
    address.line !== undefined
      ? address.line === number
      : address.last
        ? isLast
        : (address.expression?.test(text) ?? false);
  const { from, to } = command;
  if (!from) return true;
  if (!to) return hits(from);
  if (command.active) {
    if (hits(to) || (to.line !== undefined && to.line <= number)) command.active = false;
    return true;
  }
  if (!hits(from)) return false;
  command.active = !(to.line !== undefined && to.line <= number);
  return true;
}

export const searchTools: Readonly<Record<string, RescueProgram>> = { grep, egrep: grep, fgrep: grep, sed };
