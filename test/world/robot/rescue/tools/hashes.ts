import { createHash } from 'node:crypto';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { eachInput, linesOf, readInput, readText } from './text.ts';

/** `sha256sum` and its like, with `-c`. */
const sum =
  (algorithm: string): RescueProgram =>
  async (process) => {
    const { options, operands } = parseArguments(process.args.slice(1), {
      short: 'cbtw',
      long: ['check', 'status', 'quiet', 'binary', 'strict'],
      same: { check: 'c' },
    });
    if (options.has('c'))
      return await check(
        process,
        algorithm,
        operands,
        options.has('status') || options.has('quiet'),
        options.has('status'),
      );
    return await eachInput(process, operands, async (path, pieces) => {
      const hash = createHash(algorithm);
      for await (const bytes of pieces) hash.update(bytes);
      await process.out(`${hash.digest('hex')}  ${path}\n`);
    });
  };

async function check(
  process: RescueProcess,
  algorithm: string,
  operands: readonly string[],
  isQuiet: boolean,
  isSilent: boolean,
): Promise<number> {
  const { text, status } = await readText(process, operands);
  let failed = 0;
  let missing = 0;
  for (const line of linesOf(text)) {
    const [, wanted = '', path = ''] = /^([0-9a-fA-F]+) [ *](.*)$/.exec(line) ?? [];
    try {
      const hash = createHash(algorithm);
      for await (const bytes of readInput(process, path)) hash.update(bytes);
      const fits = hash.digest('hex') === wanted.toLowerCase();
      if (!fits) failed += 1;
      if (!fits && !isSilent) await process.out(`${path}: FAILED\n`);
      else if (fits && !isQuiet) await process.out(`${path}: OK\n`);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      missing += 1;
      await process.fail(`${path}: ${error.message}`);
    }
  }
  if (failed > 0 && !isSilent)
    await process.fail(`WARNING: ${failed} computed checksum${failed > 1 ? 's' : ''} did NOT match`);
  return failed + missing > 0 ? 1 : status;
}

const cmp: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'sln:i:',
    long: ['silent', 'quiet', 'bytes=', 'ignore-initial='],
    same: { silent: 's', quiet: 's', bytes: 'n', 'ignore-initial': 'i' },
  });
  const [one = '', two = '-'] = operands;
  const skips = (options.get('i') ?? '0').split(':').map(Number);
  const limit = options.has('n') ? Number(options.get('n')) : Number.POSITIVE_INFINITY;
  const left = new Reader(readInput(process, one, skips[0]));
  const right = new Reader(readInput(process, two, skips.at(-1)));
  let at = 0;
  let line = 1;
  try {
    while (at < limit) {
      const [a, b] = [await left.peek(), await right.peek()];
      if (a.length === 0 && b.length === 0) return 0;
      const length = Math.min(a.length, b.length, limit - at);
      if (length === 0) {
        if (!options.has('s'))
          await process.error(`cmp: EOF on ${a.length === 0 ? one : two} after byte ${at}, line ${line}\n`);
        return 1;
      }
      if (a.compare(b, 0, length, 0, length) !== 0) {
        const index = Array.from({ length }).findIndex((_, position) => a[position] !== b[position]);
        for (const byte of a.subarray(0, index)) if (byte === 10) line += 1;
        if (!options.has('s')) await process.out(`${one} ${two} differ: byte ${at + index + 1}, line ${line}\n`);
        return 1;
      }
      for (const byte of a.subarray(0, length)) if (byte === 10) line += 1;
      left.take(length);
      right.take(length);
      at += length;
    }
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(error.message, 2);
  }
};

/** Looks at what comes before it is taken. */
class Reader {
  readonly #pieces: AsyncGenerator<Buffer>;
  #held = Buffer.alloc(0);

  constructor(pieces: AsyncGenerator<Buffer>) {
    this.#pieces = pieces;
  }

  async peek(): Promise<Buffer> {
    if (this.#held.length === 0) {
      const next = await this.#pieces.next();
      this.#held = next.done ? Buffer.alloc(0) : Buffer.from(next.value);
    }
    return this.#held;
  }

  take(length: number): void {
    this.#held = this.#held.subarray(length);
  }
}

const base64: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'dw:i',
    long: ['decode', 'wrap='],
    same: { decode: 'd', wrap: 'w' },
  });
  const { text, status } = await readText(process, operands);
  if (options.has('d')) {
    const plain = text.replace(/\s/g, '');
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(plain))
      return await process.fail('invalid input');
    await process.out(Buffer.from(plain, 'base64'));
    return status;
  }
  const width = Number(options.get('w') ?? 76);
  const encoded = Buffer.from(text, 'latin1').toString('base64');
  await process.out(
    width === 0 ? encoded : (encoded.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).map((line) => `${line}\n`).join(''),
  );
  return status;
};

export const hashes: Readonly<Record<string, RescueProgram>> = {
  md5sum: sum('md5'),
  sha1sum: sum('sha1'),
  sha256sum: sum('sha256'),
  sha512sum: sum('sha512'),
  cmp,
  base64,
};
