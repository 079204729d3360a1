import { createHash } from 'node:crypto';
import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { eachInput, readInput } from './text.ts';

const sha256sum: RescueProgram = async (process) =>
  await eachInput(process, parseArguments(process, {}).operands, async (path, chunks) => {
    const hash = createHash('sha256');
    for await (const bytes of chunks) hash.update(bytes);
    await process.out(`${hash.digest('hex')}  ${path}\n`);
  });

/** `cmp -n BYTES -i SKIP:SKIP`: the first difference between two files. */
const cmp: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'n:i:' });
  const [one = '', two = ''] = operands;
  const skips = (options.get('i') ?? '0').split(':').map(Number);
  const limit = options.has('n') ? Number(options.get('n')) : Number.POSITIVE_INFINITY;
  const left = new Reader(readInput(process, one, skips[0]));
  const right = new Reader(readInput(process, two, skips.at(-1)));
  let line = 1;
  for (let at = 0; at < limit; ) {
    const [a, b] = [await left.peek(), await right.peek()];
    if (a.length === 0 && b.length === 0) return 0;
    const length = Math.min(a.length, b.length, limit - at);
    if (length === 0) return await process.fail(`EOF on ${a.length === 0 ? one : two} after byte ${at}, line ${line}`);
    const isSame = a.compare(b, 0, length, 0, length) === 0;
    const equal = isSame ? length : a.subarray(0, length).findIndex((byte, index) => byte !== b[index]);
    for (const byte of a.subarray(0, equal)) if (byte === 10) line += 1;
    if (!isSame) {
      await process.out(`${one} ${two} differ: byte ${at + equal + 1}, line ${line}\n`);
      return 1;
    }
    left.take(length);
    right.take(length);
    at += length;
  }
  return 0;
};

/** Looks at what comes before it is taken. */
class Reader {
  readonly #chunks: AsyncGenerator<Buffer>;
  #held = Buffer.alloc(0);

  constructor(chunks: AsyncGenerator<Buffer>) {
    this.#chunks = chunks;
  }

  async peek(): Promise<Buffer> {
    if (this.#held.length === 0) {
      const next = await this.#chunks.next();
      this.#held = next.done ? Buffer.alloc(0) : Buffer.from(next.value);
    }
    return this.#held;
  }

  take(length: number): void {
    this.#held = this.#held.subarray(length);
  }
}

export const hashes: Readonly<Record<string, RescueProgram>> = { sha256sum, cmp };
