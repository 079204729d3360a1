import { BacktrackCounter } from './backtrack-counter.ts';
import type { RegexNode } from './parse-pattern.ts';

/** Candidates that a class may match: characters that patterns name, and some that hardly any pattern matches. */
const characters = [
  ...'a0A1fvxz',
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)),
  ...['\n', '\t', '\u0000', 'é', '\u2028'],
];

/** Up to this many characters of a pattern are combined. */
const maxCharacters = 9;

export interface SlowText {
  readonly text: string;
  readonly steps: readonly [number, number];
}

/**
 * A text that the pattern takes more than linear time for, if one is found. It consists of a prefix that the pattern
 * begins with, repetitions of parts of the pattern and of pairs of its characters, and a suffix that makes the match
 * fail.
 */
export function findSlowText(pattern: Pick<RegExp, 'source' | 'flags'>): SlowText | undefined {
  const counter = new BacktrackCounter(pattern);
  const sample = (node: RegexNode): string => sampleOf(node, counter);
  const own = [...new Set(leavesOf(counter.tree).flatMap((source) => matchingCharacter(source, counter)))];
  const some = own.slice(0, maxCharacters);
  const pairs = some.flatMap((a) => some.map((b) => (a === b ? a : a + b)));
  const starts = prefixesBeforeRepeats(counter.tree, sample);
  const parts = repeatableParts(counter.tree).map(sample);
  const pumps = [...new Set([...parts, sample(counter.tree), ...starts, ...pairs])].filter(isRepeatable);
  const others = [...new Set(leavesOf(counter.tree).flatMap((source) => nonMatchingCharacter(source, counter)))].slice(
    0,
    4,
  );
  const ends = ['', '\n', '\u0000', ...others, ...some, ...some.map((one) => `${one}\n`)];
  const heads = [...new Set(['', ...starts])];
  for (const pump of pumps) {
    for (const head of heads) {
      for (const end of ends) {
        const slow = measureGrowth(counter, (times) => head + pump.repeat(times) + end);
        if (slow) return slow;
      }
    }
  }
  return undefined;
}

const isRepeatable = (text: string): boolean => text !== '' && text.length <= 24;

/** Minimum length of a text, and minimum number of repetitions. */
const minLength = 60;
const minRepeats = 16;
/** With fewer steps per character a text is not examined further. */
const linearSteps = 10;
/** Doubling the text doubles linear time, and quadruples quadratic time. */
const maxGrowth = 2.7;

function measureGrowth(counter: BacktrackCounter, textOf: (times: number) => string): SlowText | undefined {
  const times = Math.max(minRepeats, Math.ceil(minLength / (textOf(1).length - textOf(0).length)));
  const short = textOf(times);
  if (counter.count(short).steps <= linearSteps * (short.length + 1)) return undefined;
  const before = counter.count(textOf(2 * times));
  const after = counter.count(textOf(4 * times));
  const isSlow = before.isTooMuch || after.isTooMuch || after.steps > maxGrowth * before.steps;
  return isSlow ? { text: textOf(4 * times), steps: [before.steps, after.steps] } : undefined;
}

function leavesOf(node: RegexNode): string[] {
  if (node.is === 'character') return [node.source];
  return childrenOf(node).flatMap(leavesOf);
}

function childrenOf(node: RegexNode): readonly RegexNode[] {
  if (node.is === 'sequence') return node.parts;
  if (node.is === 'choice') return node.ways;
  return node.is === 'repeat' || node.is === 'look' ? [node.of] : [];
}

/** The parts that can occur more than once: the content of repeats, and each alternative of a choice. */
const repeatableParts = (node: RegexNode): readonly RegexNode[] => [
  ...(node.is === 'repeat' ? [node.of] : []),
  ...(node.is === 'choice' ? node.ways : []),
  ...childrenOf(node).flatMap(repeatableParts),
];

/** A text that the pattern matches before each of its repeats. */
function prefixesBeforeRepeats(node: RegexNode, sample: (node: RegexNode) => string): string[] {
  if (node.is !== 'sequence') return childrenOf(node).flatMap((child) => prefixesBeforeRepeats(child, sample));
  return node.parts.flatMap((part, i) => {
    const head = node.parts.slice(0, i).map(sample).join('');
    return part.is === 'repeat' ? [head] : prefixesBeforeRepeats(part, sample).map((inner) => head + inner);
  });
}

const matchingCharacter = (source: string, counter: BacktrackCounter): string[] => {
  const found = characters.find((one) => counter.fits(source, one));
  return found === undefined ? [] : [found];
};

/** A character that does not match. */
const nonMatchingCharacter = (source: string, counter: BacktrackCounter): string[] => {
  const found = characters.find((one) => !counter.fits(source, one));
  return found === undefined ? [] : [found];
};

/** A matching text: the first alternative, with the minimum number of repeats, at least one. */
function sampleOf(node: RegexNode, counter: BacktrackCounter): string {
  if (node.is === 'character') return matchingCharacter(node.source, counter)[0] ?? '';
  if (node.is === 'assertion' || node.is === 'look') return '';
  if (node.is === 'choice') return node.ways[0] ? sampleOf(node.ways[0], counter) : '';
  if (node.is === 'repeat') return sampleOf(node.of, counter).repeat(Math.max(1, node.min));
  return node.parts.map((part) => sampleOf(part, counter)).join('');
}
