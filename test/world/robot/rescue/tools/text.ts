import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { print } from './printf.ts';
import { runTest } from './test.ts';

/** Pieces of one input: a path, from so many bytes on, or `-` for standard input. Throws an Errno. */
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

/** Goes through the inputs; what cannot be read is told, and the status is 1. */
export async function eachInput(
  process: RescueProcess,
  operands: readonly string[],
  work: (path: string, pieces: AsyncGenerator<Buffer>) => Promise<void>,
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
  const status = await eachInput(process, operands, async (_path, pieces) => {
    for await (const bytes of pieces) found.push(bytes);
  });
  return { text: Buffer.concat(found).toString('latin1'), status };
}

/** Lines without their ends. */
export const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export const toText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

const cat: RescueProgram = async (process) =>
  await eachInput(
    process,
    process.args.slice(1).filter((arg) => arg === '-' || !arg.startsWith('-')),
    async (_path, pieces) => {
      for await (const bytes of pieces) await process.out(bytes);
    },
  );

const tee: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'aip',
    long: ['append'],
    same: { append: 'a' },
  });
  const append = options.has('a');
  const outputs = [];
  let status = 0;
  for (const path of operands) {
    try {
      outputs.push({
        path,
        opened: await process.open(path, { read: false, write: true, create: true, truncate: !append, append }),
      });
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`${path}: ${error.message}`);
    }
  }
  try {
    for await (const bytes of process.chunks()) {
      await process.out(bytes);
      for (const output of [...outputs]) {
        try {
          await output.opened.file.write(bytes, process.signal);
        } catch (error) {
          if (!(error instanceof Errno)) throw error;
          if (error.code === 'EPIPE') return 141;
          status = await process.fail(`${output.path}: ${error.message}`);
          outputs.splice(outputs.indexOf(output), 1);
        }
      }
    }
    return status;
  } finally {
    for (const { opened } of outputs) opened.close();
  }
};

const units: Readonly<Record<string, number>> = {
  b: 512,
  k: 1024,
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
  T: 1024 ** 4,
  kB: 1000,
  KB: 1000,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** `4M` and its like; undefined when it is no number. */
export function toBytes(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = unit === '' ? 1 : units[unit];
  return digits === '' || factor === undefined ? undefined : Number(digits) * factor;
}

const head: RescueProgram = async (process) => {
  const given = process.args.slice(1).map((arg) => arg.replace(/^-(\d+)$/, '-n$1'));
  const { options, operands } = parseArguments(given, {
    short: 'n:c:qv',
    long: ['lines=', 'bytes='],
    same: { lines: 'n', bytes: 'c' },
  });
  const bytes = options.get('c');
  const wanted = bytes === undefined ? Number(options.get('n') ?? 10) : toBytes(bytes);
  if (wanted === undefined || Number.isNaN(wanted))
    return await process.fail(
      `invalid number of ${bytes === undefined ? 'lines' : 'bytes'}: \u2018${bytes ?? options.get('n')}\u2019`,
    );
  return await eachInput(process, operands, async (_path, pieces) => {
    let left = wanted;
    if (left === 0) return;
    for await (const chunk of pieces) {
      const end =
        bytes === undefined
          ? endOfLine(chunk, left)
          : { taken: Math.min(left, chunk.length), lines: Math.min(left, chunk.length) };
      await process.out(chunk.subarray(0, end.taken));
      left -= end.lines;
      if (left <= 0) return;
    }
  });
};

function endOfLine(chunk: Buffer, lines: number): { taken: number; lines: number } {
  let taken = 0;
  for (let count = 0; count < lines; count += 1) {
    const next = chunk.indexOf(10, taken);
    if (next < 0) return { taken: chunk.length, lines: count };
    taken = next + 1;
  }
  return { taken, lines };
}

const tail: RescueProgram = async (process) => {
  const given = process.args.slice(1).map((arg) => arg.replace(/^-(\d+)$/, '-n$1'));
  const { options, operands } = parseArguments(given, {
    short: 'n:c:fq',
    long: ['lines=', 'bytes='],
    same: { lines: 'n', bytes: 'c' },
  });
  const { text, status } = await readText(process, operands);
  const bytes = options.get('c');
  const count = bytes ?? options.get('n') ?? '10';
  const number = toBytes(count.replace(/^[-+]/, '')) ?? 10;
  const units_ =
    bytes === undefined
      ? linesOf(text).map((line, index, all) => (index < all.length - 1 || text.endsWith('\n') ? `${line}\n` : line))
      : [...text];
  await process.out(
    (count.startsWith('+') ? units_.slice(Math.max(0, number - 1)) : number === 0 ? [] : units_.slice(-number)).join(
      '',
    ),
  );
  return status;
};

const wc: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'lwc',
    long: ['lines', 'words', 'bytes'],
    same: { lines: 'l', words: 'w', bytes: 'c' },
  });
  const chosen = ['l', 'w', 'c'].filter((one) => options.size === 0 || options.has(one));
  return await eachInput(process, operands, async (path, pieces) => {
    const counts: Record<string, number> = { l: 0, w: 0, c: 0 };
    let inWord = false;
    for await (const bytes of pieces) {
      counts['c'] = (counts['c'] ?? 0) + bytes.length;
      if (options.size === 1 && options.has('c')) continue;
      for (const byte of bytes) {
        if (byte === 10) counts['l'] = (counts['l'] ?? 0) + 1;
        const isSpace = byte === 32 || (byte >= 9 && byte <= 13);
        if (!isSpace && !inWord) counts['w'] = (counts['w'] ?? 0) + 1;
        inWord = !isSpace;
      }
    }
    const width = chosen.length > 1 ? 7 : 1;
    const shown = chosen.map((one) => String(counts[one]).padStart(width)).join(' ');
    await process.out(`${shown}${path === '-' ? '' : ` ${path}`}\n`);
  });
};

const sort: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), { short: 'unrk:t:' });
  const { text, status } = await readText(process, operands);
  const lines = linesOf(text).sort((a, b) =>
    options.has('n') ? Number.parseFloat(a) - Number.parseFloat(b) || (a < b ? -1 : 1) : a < b ? -1 : a > b ? 1 : 0,
  );
  if (options.has('r')) lines.reverse();
  await process.out(toText(options.has('u') ? [...new Set(lines)] : lines));
  return status;
};

const uniq: RescueProgram = async (process) => {
  const { text, status } = await readText(
    process,
    process.args.slice(1).filter((arg) => !arg.startsWith('-')),
  );
  await process.out(toText(linesOf(text).filter((line, index, all) => index === 0 || line !== all[index - 1])));
  return status;
};

const cut: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), { short: 'd:f:c:s' });
  const list = options.get('f') ?? options.get('c') ?? '1';
  const wanted = (index: number): boolean =>
    list.split(',').some((range) => {
      const [from = '', to] = range.split('-');
      return (
        index >= Number(from || 1) &&
        index <= (to === undefined ? Number(from) : to === '' ? Number.POSITIVE_INFINITY : Number(to))
      );
    });
  const { text, status } = await readText(process, operands);
  const delimiter = options.get('d') ?? '\t';
  const change = (line: string): string => {
    if (options.has('c')) return [...line].filter((_, index) => wanted(index + 1)).join('');
    if (!line.includes(delimiter)) return line;
    return line
      .split(delimiter)
      .filter((_, index) => wanted(index + 1))
      .join(delimiter);
  };
  await process.out(toText(linesOf(text).map(change)));
  return status;
};

const tr: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), { short: 'dsc' });
  const expand = (set: string): string =>
    set
      .replace(
        /\\([nrt\\0])/g,
        (_, letter: string) => ({ n: '\n', r: '\r', t: '\t', '\\': '\\', '0': '\0' })[letter] ?? letter,
      )
      .replaceAll('[:upper:]', 'A-Z')
      .replaceAll('[:lower:]', 'a-z')
      .replaceAll('[:digit:]', '0-9')
      .replaceAll('[:space:]', ' \t\n\r\v\f')
      .replace(/(.)-(.)/gs, (_, from: string, to: string) =>
        Array.from({ length: to.charCodeAt(0) - from.charCodeAt(0) + 1 }, (_one, index) =>
          String.fromCharCode(from.charCodeAt(0) + index),
        ).join(''),
      );
  const from = expand(operands[0] ?? '');
  const to = expand(operands[1] ?? '');
  const text = (await process.readAll()).toString('latin1');
  const hits = (char: string): boolean => from.includes(char) !== options.has('c');
  const changed = [...text].flatMap((char) => {
    if (!hits(char)) return [char];
    if (options.has('d')) return [];
    return to === ''
      ? [char]
      : [to[Math.min(options.has('c') ? to.length - 1 : from.indexOf(char), to.length - 1)] ?? ''];
  });
  const squeezed = options.has('s')
    ? changed.filter((char, index) => index === 0 || char !== changed[index - 1] || !(to || from).includes(char))
    : changed;
  await process.out(squeezed.join(''));
  return 0;
};

const echo: RescueProgram = async (process) => {
  const words = process.args.slice(1);
  const newline = words[0] !== '-n';
  await process.out(`${words.slice(newline ? 0 : 1).join(' ')}${newline ? '\n' : ''}`);
  return 0;
};

const printf: RescueProgram = async (process) => {
  const [format, ...values] = process.args.slice(1);
  if (format === undefined) return await process.fail('missing operand');
  const { text, errors } = print(format, values, 'bash');
  await process.out(text);
  for (const error of errors) await process.fail(error);
  return errors.length > 0 ? 1 : 0;
};

const test: RescueProgram = async (process) => {
  const operands = process.args.slice(1);
  if (process.name === '[' && operands.pop() !== ']') return await process.fail('missing \u2018]\u2019', 2);
  const outcome = runTest(operands, process, { dialect: 'bash' });
  return typeof outcome === 'boolean' ? (outcome ? 0 : 1) : await process.fail(outcome.error, 2);
};

const seq: RescueProgram = async (process) => {
  const numbers = process.args.slice(1).map(Number);
  const [from = 1, step = 1, to = 1] =
    numbers.length === 1 ? [1, 1, numbers[0]] : numbers.length === 2 ? [numbers[0], 1, numbers[1]] : numbers;
  const found: string[] = [];
  for (let value = from; step > 0 ? value <= to : value >= to; value += step) found.push(String(value));
  await process.out(toText(found));
  return 0;
};

const yes: RescueProgram = async (process) => {
  const line = `${process.args.slice(1).join(' ') || 'y'}\n`;
  for (;;) await process.out(line.repeat(1024));
};

const rev: RescueProgram = async (process) => {
  const { text, status } = await readText(process, process.args.slice(1));
  await process.out(toText(linesOf(text).map((line) => [...line].reverse().join(''))));
  return status;
};

export const text: Readonly<Record<string, RescueProgram>> = {
  ...{ cat, tee, head, tail, wc, sort, uniq, cut, tr, echo, printf, test, seq, yes, rev },
  '[': test,
  true: () => 0,
  false: () => 1,
};
