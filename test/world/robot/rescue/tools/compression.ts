import { decodeXz, XzError } from '../../../compression/xz/decode.ts';
import { decodeZstd, ZstdError } from '../../../compression/zstd/decode.ts';
import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `zstd -dc`. Data that ends too early or is damaged is reported, with status 1. */
const zstd: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'dc', long: ['long=', 'sparse'] });
  if (!options.has('d') || operands.length > 0) return await process.fail('only -d of standard input is simulated');
  try {
    for await (const chunk of decodeZstd(process.chunks())) await process.out(chunk);
    return 0;
  } catch (error) {
    if (!(error instanceof ZstdError)) throw error;
    const isPlain = /^un/.test(error.message);
    await process.error(isPlain ? `zstd: /*stdin*\\: ${error.message} \n` : `/*stdin*\\ : ${error.message} \n`);
    return 1;
  }
};

/** `xz -dc`. */
const xz: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'dc' });
  if (!options.has('d') || operands.length > 0) return await process.fail('only -d of standard input is simulated');
  try {
    for await (const chunk of decodeXz(process.chunks())) await process.out(chunk);
    return 0;
  } catch (error) {
    if (!(error instanceof XzError)) throw error;
    return await process.fail(`(stdin): ${error.message}`);
  }
};

export const compressionTools: Readonly<Record<string, RescueProgram>> = { zstd, xz };
