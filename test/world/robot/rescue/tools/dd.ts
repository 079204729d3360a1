import type { BlockDevice } from '../devices/block-device.ts';
import { Errno, Killed, signals } from '../io/errno.ts';
import type { Descriptor } from '../io/open-file.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { toBytes } from './text.ts';

interface Copy {
  readonly input: Descriptor;
  readonly output: Descriptor;
  readonly inputBlock: number;
  readonly outputBlock: number;
  readonly most: number | undefined;
  readonly skip: number;
  /** Where the first byte goes; undefined: blocks of zeros are written like others. */
  readonly sparseFrom: number | undefined;
  readonly fullBlocks: boolean;
}

interface Count {
  bytes: number;
  fullIn: number;
  partIn: number;
  fullOut: number;
  partOut: number;
}

const known = new Set(['if', 'of', 'bs', 'ibs', 'obs', 'count', 'skip', 'seek', 'conv', 'oflag', 'iflag', 'status']);
const flags = new Set([
  'direct',
  'sync',
  'dsync',
  'fsync',
  'fdatasync',
  'notrunc',
  'nocreat',
  'excl',
  'noerror',
  'fullblock',
  'count_bytes',
  'skip_bytes',
  'seek_bytes',
  'sparse',
  'nonblock',
]);

/** `dd`: block by block, as short as its input hands them out. */
export const dd: RescueProgram = async (process) => {
  const given = new Map<string, string>();
  for (const arg of process.args.slice(1)) {
    const [, name = '', value = ''] = /^([a-z]+)=([\s\S]*)$/.exec(arg) ?? [];
    if (!known.has(name))
      return await process.fail(`unrecognized operand \u2018${arg}\u2019\nTry 'dd --help' for more information.`);
    given.set(name, value);
  }
  const list = (name: string): string[] => (given.get(name) ?? '').split(',').filter(Boolean);
  for (const name of ['conv', 'oflag', 'iflag']) {
    const unknown = list(name).find((one) => !flags.has(one));
    if (unknown !== undefined)
      return await process.fail(
        `invalid ${name === 'conv' ? 'conversion' : name === 'oflag' ? 'output flag' : 'input flag'}: \u2018${unknown}\u2019`,
      );
  }
  const numbers = ['bs', 'ibs', 'obs', 'count', 'skip', 'seek'].map((name) => [name, given.get(name)] as const);
  const bad = numbers.find(([, value]) => value !== undefined && toBytes(value) === undefined);
  if (bad) return await process.fail(`invalid number: \u2018${bad[1]}\u2019`);
  const size = (name: string): number | undefined => toBytes(given.get(name) ?? '');
  const block = size('bs');
  const inputBlock = block ?? size('ibs') ?? 512;
  const outputBlock = block ?? size('obs') ?? 512;
  const inBytes = (name: string, flag: string, unit: number): number =>
    (size(name) ?? 0) * (list(flag).includes(`${name}_bytes`) ? 1 : unit);
  const input = await openOr(process, given.get('if'), 0, { read: true, write: false });
  if (typeof input === 'number') return input;
  const isNew = !list('conv').includes('nocreat');
  const truncate = !list('conv').includes('notrunc') && (size('seek') ?? 0) === 0;
  const output = await openOr(process, given.get('of'), 1, { read: false, write: true, create: isNew, truncate });
  if (typeof output === 'number') {
    input.close();
    return output;
  }
  const copy: Copy = {
    ...{ input, output, inputBlock, outputBlock },
    most: given.has('count') ? inBytes('count', 'iflag', inputBlock) : undefined,
    skip: inBytes('skip', 'iflag', inputBlock),
    sparseFrom: list('conv').includes('sparse') && output.file.seek ? inBytes('seek', 'oflag', outputBlock) : undefined,
    fullBlocks: list('iflag').includes('fullblock'),
  };
  output.file.seek?.(inBytes('seek', 'oflag', outputBlock));
  try {
    return await run(process, copy, given);
  } finally {
    input.close();
    output.close();
  }
};

async function openOr(
  process: RescueProcess,
  path: string | undefined,
  number: number,
  mode: { read: boolean; write: boolean; create?: boolean; truncate?: boolean },
): Promise<Descriptor | number> {
  try {
    const own = process.descriptors.get(number);
    if (path === undefined && own) return own.duplicate();
    return await process.open(path ?? '/dev/null', mode);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`failed to open '${path}': ${error.message}`);
  }
}

async function run(process: RescueProcess, copy: Copy, given: ReadonlyMap<string, string>): Promise<number> {
  const count: Count = { bytes: 0, fullIn: 0, partIn: 0, fullOut: 0, partOut: 0 };
  const begun = Date.now();
  let status = 0;
  try {
    await transfer(process, copy, count);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    const path = given.get('of') ?? 'standard output';
    if (error.code === 'EPIPE') throw new Killed(signals.PIPE);
    status = await process.fail(`error writing '${path}': ${error.message}`);
  }
  if (given.get('status') === 'none') return status;
  await process.error(`${count.fullIn}+${count.partIn} records in\n${count.fullOut}+${count.partOut} records out\n`);
  if (given.get('status') !== 'noxfer') await process.error(`${summary(count.bytes, (Date.now() - begun) / 1000)}\n`);
  return status;
}

async function transfer(process: RescueProcess, copy: Copy, count: Count): Promise<void> {
  const { input, output, inputBlock, outputBlock, most: max, fullBlocks } = copy;
  if (copy.skip > 0) await skip(process, input, copy.skip);
  let held: Buffer[] = [];
  let length = 0;
  let taken = 0;
  const flush = async (bytes: Buffer): Promise<void> => {
    const isSkipped = copy.sparseFrom !== undefined && bytes.every((byte) => byte === 0);
    if (isSkipped) output.file.seek?.((copy.sparseFrom ?? 0) + count.bytes + bytes.length);
    else await output.file.write(bytes, process.signal);
    count.bytes += bytes.length;
    if (bytes.length === outputBlock) count.fullOut += 1;
    else count.partOut += 1;
  };
  while (max === undefined || taken < max) {
    const wanted = Math.min(inputBlock, max === undefined ? inputBlock : max - taken);
    const block = await readBlock(process, input, wanted, fullBlocks);
    if (block.length === 0) break;
    // Without bytes as its unit, `count` counts short blocks, too.
    taken +=
      max !== undefined && !fullBlocks && block.length < wanted && max % inputBlock === 0 ? inputBlock : block.length;
    if (block.length === inputBlock) count.fullIn += 1;
    else count.partIn += 1;
    if (inputBlock === outputBlock) {
      await flush(block);
      continue;
    }
    held.push(block);
    length += block.length;
    while (length >= outputBlock) {
      const all = Buffer.concat(held);
      await flush(all.subarray(0, outputBlock));
      held = [all.subarray(outputBlock)];
      length -= outputBlock;
    }
  }
  if (length > 0) await flush(Buffer.concat(held));
}

async function readBlock(process: RescueProcess, input: Descriptor, wanted: number, full: boolean): Promise<Buffer> {
  const found: Buffer[] = [];
  let length = 0;
  do {
    const bytes = await input.file.read(wanted - length, process.signal);
    if (bytes.length === 0) break;
    found.push(bytes);
    length += bytes.length;
  } while (full && length < wanted);
  const [only] = found;
  return found.length === 1 && only ? only : Buffer.concat(found);
}

async function skip(process: RescueProcess, input: Descriptor, bytes: number): Promise<void> {
  if (input.file.seek) {
    input.file.seek(bytes);
    return;
  }
  for (let left = bytes; left > 0; ) {
    const chunk = await input.file.read(left, process.signal);
    if (chunk.length === 0) return;
    left -= chunk.length;
  }
}

function summary(bytes: number, seconds: number): string {
  const parts: [number, string, string][] = [
    [1e9, 'GB', 'GiB'],
    [1e6, 'MB', 'MiB'],
    [1e3, 'kB', 'KiB'],
  ];
  const index = parts.findIndex(([least]) => bytes >= least);
  const [decimal, unit, binary] = parts[index] ?? [1, '', ''];
  const short = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0));
  const sizes =
    index < 0 ? '' : ` (${short(bytes / decimal)} ${unit}, ${short(bytes / 1024 ** (3 - index))} ${binary})`;
  const rate = bytes / Math.max(seconds, 0.001);
  return `${bytes} bytes${sizes} copied, ${seconds.toFixed(6)} s, ${rate >= 1e6 ? `${(rate / 1e6).toFixed(0)} MB/s` : `${(rate / 1e3).toFixed(1)} kB/s`}`;
}

/** The block device that a path leads to, or undefined. */
export function deviceAt(process: RescueProcess, path: string): BlockDevice | undefined {
  const { path: real, node } = process.system.files.find(path, process.cwd);
  if (!node) throw new Errno('ENOENT');
  return node.kind === 'block' ? process.system.storage.find(real.split('/').pop() ?? '') : undefined;
}
