import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** Chunks of one input: a path, from an offset in bytes, or `-` for standard input. Throws an Errno. */
export async function* readInput(process: RescueProcess, path: string, from = 0): AsyncGenerator<Buffer> {
  if (path === '-') {
    yield* process.chunks(0);
    return;
  }
  const opened = await process.open(path, { read: true, write: false });
  if (from > 0) opened.file.seek?.(from);
  try {
    for (;;) {
      const bytes = await opened.file.read(1 << 22, process.signal);
      if (bytes.length === 0) return;
      yield bytes;
    }
  } finally {
    opened.close();
  }
}

/** Handles the inputs in turn. One that cannot be read is reported, and the status is 1. */
export async function eachInput(
  process: RescueProcess,
  operands: readonly string[],
  work: (path: string, chunks: AsyncGenerator<Buffer>) => Promise<void>,
): Promise<number> {
  let status = 0;
  for (const path of operands.length > 0 ? operands : ['-']) {
    try {
      await work(path, readInput(process, path));
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`${path}: ${error.message}`);
    }
  }
  return status;
}

/** All of the inputs as one text. */
export async function readText(
  process: RescueProcess,
  operands: readonly string[],
): Promise<{ text: string; status: number }> {
  const found: Buffer[] = [];
  const status = await eachInput(process, operands, async (_path, chunks) => {
    for await (const bytes of chunks) found.push(bytes);
  });
  return { text: Buffer.concat(found).toString('latin1'), status };
}

/** Lines without their ends. */
export const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export const toText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

const cat: RescueProgram = async (process) =>
  await eachInput(process, parseArguments(process, {}).operands, async (_path, chunks) => {
    for await (const bytes of chunks) await process.out(bytes);
  });

const tee: RescueProgram = async (process) => {
  const [path = '/dev/null'] = parseArguments(process, {}).operands;
  const output = await process.open(path, { read: false, write: true, create: true, truncate: true });
  try {
    for await (const bytes of process.chunks()) {
      await process.out(bytes);
      await output.file.write(bytes, process.signal);
    }
    return 0;
  } catch (error) {
    if (error instanceof Errno && error.code === 'EPIPE') return 141;
    throw error;
  } finally {
    output.close();
  }
};

/** `4M` and its like; undefined when it is no number. */
export function toBytes(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([KMG]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * 1024 ** ' KMG'.indexOf(unit || ' ');
}

const head: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'n:c:' });
  const bytes = options.get('c');
  return await eachInput(process, operands, async (_path, chunks) => {
    let left = Number(bytes ?? options.get('n') ?? 10);
    for await (const chunk of chunks) {
      const taken = bytes === undefined ? endOfLines(chunk, left) : { end: Math.min(left, chunk.length), count: left };
      await process.out(chunk.subarray(0, taken.end));
      left -= bytes === undefined ? taken.count : taken.end;
      if (left <= 0) return;
    }
  });
};

/** The end of so many lines, or of all that there are. */
function endOfLines(chunk: Buffer, lines: number): { end: number; count: number } {
  let end = 0;
  for (let count = 0; count < lines; count += 1) {
    const next = chunk.indexOf(10, end);
    if (next < 0) return { end: chunk.length, count };
    end = next + 1;
  }
  return { end, count: lines };
}

const tail: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'n:' });
  const { text, status } = await readText(process, operands);
  await process.out(
    text
      .match(/[^\n]*\n|[^\n]+$/g)
      ?.slice(-Number(options.get('n') ?? 10))
      .join('') ?? '',
  );
  return status;
};

/** `wc` with one of `-l`, `-w` and `-c`, of standard input. */
const wc: RescueProgram = async (process) => {
  const { options } = parseArguments(process, { short: 'lwc' });
  let count = 0;
  let inWord = false;
  for await (const bytes of process.chunks()) {
    if (options.has('c')) {
      count += bytes.length;
      continue;
    }
    for (const byte of bytes) {
      const isSpace = byte === 32 || (byte >= 9 && byte <= 13);
      if (options.has('l') ? byte === 10 : !isSpace && !inWord) count += 1;
      inWord = !isSpace;
    }
  }
  await process.out(`${count}\n`);
  return 0;
};

const sort: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'u' });
  const { text, status } = await readText(process, operands);
  const lines = linesOf(text).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  await process.out(toText(options.has('u') ? [...new Set(lines)] : lines));
  return status;
};

/** `cut` of one field. */
const cut: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'd:f:' });
  const [delimiter = '\t', field] = [options.get('d'), Number(options.get('f'))];
  const { text, status } = await readText(process, operands);
  const change = (line: string): string => (line.includes(delimiter) ? (line.split(delimiter)[field - 1] ?? '') : line);
  await process.out(toText(linesOf(text).map(change)));
  return status;
};

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', '0': '\0' };

/** `tr` of single characters: others in their place, `-d` none, `-s` one for several. */
const tr: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'ds' });
  const [from = '', to = ''] = operands.map((set) => set.replace(/\\([nt0])/g, (_, one: string) => escapes[one] ?? ''));
  const text = (await process.readAll()).toString('latin1');
  const changed = [...text].flatMap((char) => {
    const index = from.indexOf(char);
    if (index < 0 || (to === '' && !options.has('d'))) return [char];
    return options.has('d') ? [] : [to[Math.min(index, to.length - 1)] ?? ''];
  });
  const isRepeated = (char: string, index: number): boolean => char === changed[index - 1] && from.includes(char);
  await process.out(changed.filter((char, index) => !options.has('s') || !isRepeated(char, index)).join(''));
  return 0;
};

const seq: RescueProgram = async (process) => {
  const numbers = parseArguments(process, {}).operands.map(Number);
  const [from = 1, step = 1, to = 1] = numbers.length === 1 ? [1, 1, numbers[0]] : numbers;
  const found: string[] = [];
  for (let value = from; value <= to; value += step) found.push(String(value));
  await process.out(toText(found));
  return 0;
};

export const text: Readonly<Record<string, RescueProgram>> = { cat, tee, head, tail, wc, sort, cut, tr, seq };
