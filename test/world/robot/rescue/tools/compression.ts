import { decodeXz, XzError } from '../../../compression/xz/decode.ts';
import { encodeXz } from '../../../compression/xz/encode.ts';
import { decodeZstd, ZstdError } from '../../../compression/zstd/decode.ts';
import { encodeZstd } from '../../../compression/zstd/encode.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { readInput } from './text.ts';

/** `zstd` and `zstdcat`. What ends too early or is damaged is told, with status 1. */
const zstd: RescueProgram = async (process) => {
  const isCat = process.name === 'zstdcat';
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'dcfqtkvTo:0123456789',
    long: ['decompress', 'stdout', 'force', 'quiet', 'test', 'no-progress', 'check', 'long?=', 'threads=', 'sparse'],
    same: { decompress: 'd', stdout: 'c', force: 'f', quiet: 'q', test: 't' },
  });
  if (unknown !== undefined) return await process.fail(`Incorrect parameters\nIncorrect parameter: ${unknown}`);
  const [path = '-'] = operands;
  if (!isCat && !options.has('d') && !options.has('t')) {
    await process.out(encodeZstd(await readWhole(process, path)));
    return 0;
  }
  const shown = path === '-' ? '/*stdin*\\' : path;
  try {
    let bytes = 0;
    for await (const chunk of decodeZstd(readInput(process, path), isCat || (options.has('f') && options.has('c')))) {
      bytes += chunk.length;
      if (!options.has('t')) await process.out(chunk);
    }
    if (options.has('t') && !options.has('q')) await process.error(`${shown.padEnd(20)}: ${bytes} bytes \n`);
    return 0;
  } catch (error) {
    if (error instanceof Errno && error.code === 'ENOENT') {
      await process.error(`zstd: can't stat ${path} : No such file or directory -- ignored \n`);
      return 1;
    }
    if (!(error instanceof ZstdError)) throw error;
    const isPlain = /^un/.test(error.message);
    await process.error(isPlain ? `zstd: ${shown}: ${error.message} \n` : `${shown} : ${error.message} \n`);
    return 1;
  }
};

/** `xz` and `xzcat`, for what comes packed. */
const xz: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'dcfkqtzvT:0123456789e',
    long: ['decompress', 'uncompress', 'stdout', 'to-stdout', 'force', 'keep', 'quiet', 'test', 'threads='],
    same: { decompress: 'd', uncompress: 'd', stdout: 'c', 'to-stdout': 'c', test: 't', threads: 'T' },
  });
  if (unknown !== undefined) return await process.fail(`unrecognized option '${unknown}'`);
  const [path = '-'] = operands;
  if (!options.has('d') && !options.has('t') && process.name === 'xz') {
    await process.out(encodeXz(await readWhole(process, path)));
    return 0;
  }
  const shown = path === '-' ? '(stdin)' : path;
  try {
    for await (const chunk of decodeXz(readInput(process, path))) if (!options.has('t')) await process.out(chunk);
    return 0;
  } catch (error) {
    if (!(error instanceof XzError || error instanceof Errno)) throw error;
    return await process.fail(`${shown}: ${error.message}`);
  }
};

async function readWhole(process: RescueProcess, path: string): Promise<Buffer> {
  const found: Buffer[] = [];
  for await (const chunk of readInput(process, path)) found.push(chunk);
  return Buffer.concat(found);
}

export const compressionTools: Readonly<Record<string, RescueProgram>> = {
  zstd,
  zstdcat: zstd,
  unzstd: zstd,
  xz,
  xzcat: xz,
};
