import type { Part, Word } from './ast.ts';

/** `{a,b}` and `{1..3}` make several words of one, in bash. Only text without quotes counts; everything else stays in place. */
export function expandBraces(word: Word): Word[] {
  const tokens = tokenize(word);
  if (!tokens.some((token) => token === '{')) return [word];
  return expand(tokens).map(join);
}

/** A character that braces can be made of, or something that they can only contain. */
type Token = string | Part;

const tokenize = (word: Word): Token[] =>
  word.flatMap((part): Token[] => (part.kind === 'text' && !part.quoted ? [...part.text] : [part]));

function join(tokens: readonly Token[]): Word {
  const parts: Part[] = [];
  for (const token of tokens) {
    const last = parts.at(-1);
    if (typeof token !== 'string') parts.push(token);
    else if (last?.kind === 'text' && !last.quoted) parts[parts.length - 1] = { ...last, text: last.text + token };
    else parts.push({ kind: 'text', text: token, quoted: false });
  }
  return parts;
}

function expand(tokens: readonly Token[]): Token[][] {
  for (let begin = 0; begin < tokens.length; begin += 1) {
    if (tokens[begin] !== '{') continue;
    const found = closing(tokens, begin);
    if (!found) continue;
    const inner = tokens.slice(begin + 1, found.end);
    const choices = found.commas.length > 0 ? alternatives(tokens, begin, found) : range(inner);
    if (!choices) continue;
    const rest = expand(tokens.slice(found.end + 1));
    const head = tokens.slice(0, begin);
    return choices.flatMap((choice) => expand(choice).flatMap((one) => rest.map((tail) => [...head, ...one, ...tail])));
  }
  return [[...tokens]];
}

function closing(tokens: readonly Token[], begin: number): { end: number; commas: number[] } | undefined {
  const commas: number[] = [];
  let depth = 0;
  for (let at = begin + 1; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === '{') depth += 1;
    else if (token === '}' && depth === 0) return { end: at, commas };
    else if (token === '}') depth -= 1;
    else if (token === ',' && depth === 0) commas.push(at);
  }
  return undefined;
}

function alternatives(
  tokens: readonly Token[],
  begin: number,
  { end, commas }: { end: number; commas: number[] },
): Token[][] {
  const borders = [begin, ...commas, end];
  return borders.slice(1).map((border, index) => tokens.slice((borders[index] ?? 0) + 1, border));
}

function range(inner: readonly Token[]): Token[][] | undefined {
  const text = inner.map((token) => (typeof token === 'string' ? token : '\0')).join('');
  const numbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/.exec(text);
  const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(text);
  if (!numbers && !letters) return undefined;
  const [, from = '', to = '', step = '1'] = numbers ?? letters ?? [];
  const code = (one: string): number => (numbers ? Number(one) : one.charCodeAt(0));
  const width = numbers && /^-?0\d/.test(from + to) ? Math.max(from.length, to.length) : 0;
  const by = Math.abs(Number(step)) || 1;
  const found: string[] = [];
  const sign = code(to) >= code(from) ? 1 : -1;
  for (let value = code(from); sign * value <= sign * code(to); value += sign * by) {
    found.push(numbers ? String(value).padStart(width, '0') : String.fromCharCode(value));
  }
  return found.map((one) => [...one]);
}
