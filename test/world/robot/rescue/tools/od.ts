import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `od -An -tu8`: numbers of eight bytes, the least significant first, two on a line. */
export const od: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'A:t:' });
  if (options.get('A') !== 'n' || options.get('t') !== 'u8' || operands.length > 0)
    return await process.fail('only -An -tu8 of standard input is simulated');
  const bytes = await process.readAll();
  const padded = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
  const numbers = Array.from({ length: padded.length / 8 }, (_, index) => padded.readBigUInt64LE(index * 8));
  const lines = numbers.map((number, index) => `${String(number).padStart(21)}${index % 2 === 1 ? '\n' : ''}`);
  await process.out(`${lines.join('')}${numbers.length % 2 === 1 ? '\n' : ''}`);
  return 0;
};
