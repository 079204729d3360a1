import type { BlockDevice } from '../devices/block-device.ts';
import { Errno, Killed, signals } from '../io/errno.ts';
import type { Descriptor } from '../io/open-file.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { toBytes } from './text.ts';

interface Copy {
  readonly input: Descriptor;
  readonly output: Descriptor;
  readonly blockBytes: number;
  /** Undefined: to the end of the input. */
  readonly count: number | undefined;
  /** Position in the output of the first byte, where blocks of zeros are skipped; undefined: they are written. */
  readonly sparseFrom: number | undefined;
}

/** The words that are simulated, by operand. */
const simulated: Readonly<Record<string, readonly string[]>> = {
  conv: ['fsync', 'nocreat', 'notrunc', 'sparse'],
  oflag: ['direct', 'seek_bytes'],
  iflag: ['direct', 'count_bytes', 'skip_bytes'],
  status: ['none'],
};

/** `dd`: block by block, as short as its input hands them out. */
export const dd: RescueProgram = async (process) => {
  const given = new Map(process.args.slice(1).map((arg) => [arg.replace(/=.*/s, ''), arg.replace(/^[^=]*=?/, '')]));
  const unknown = [...given].find(([name, value]) =>
    name in simulated
      ? value.split(',').some((word) => !simulated[name]?.includes(word))
      : /^(?:bs|count|skip|seek)$/.test(name)
        ? toBytes(value) === undefined
        : name !== 'if' && name !== 'of',
  );
  if (unknown || given.get('status') !== 'none')
    return await process.fail(unknown ? `${unknown.join('=')} is not simulated` : 'only status=none is simulated');
  const words = (name: string): readonly string[] => given.get(name)?.split(',') ?? [];
  const blockBytes = toBytes(given.get('bs') ?? '512') ?? 0;
  const inBytes = (name: string, flags: string): number =>
    (toBytes(given.get(name) ?? '0') ?? 0) * (words(flags).includes(`${name}_bytes`) ? 1 : blockBytes);
  const [seek, skip] = [inBytes('seek', 'oflag'), inBytes('skip', 'iflag')];
  const truncate = !words('conv').includes('notrunc') && seek === 0;
  const create = !words('conv').includes('nocreat');
  const opened: Descriptor[] = [];
  try {
    const input = await openOperand(process, given.get('if'), 0, { read: true, write: false });
    if (typeof input === 'number') return input;
    opened.push(input);
    const output = await openOperand(process, given.get('of'), 1, { read: false, write: true, create, truncate });
    if (typeof output === 'number') return output;
    opened.push(output);
    input.file.seek?.(skip);
    output.file.seek?.(seek);
    const count = given.has('count') ? inBytes('count', 'iflag') : undefined;
    const sparseFrom = words('conv').includes('sparse') && output.file.seek ? seek : undefined;
    await transfer(process, { input, output, blockBytes, count, sparseFrom });
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    if (error.code === 'EPIPE') throw new Killed(signals.PIPE);
    return await process.fail(`error writing '${given.get('of') ?? 'standard output'}': ${error.message}`);
  } finally {
    for (const one of opened) one.close();
  }
};

/** A file, or the descriptor of this number. A status, where it cannot be opened. */
async function openOperand(
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

async function transfer(
  process: RescueProcess,
  { input, output, blockBytes, count = Number.POSITIVE_INFINITY, sparseFrom }: Copy,
): Promise<void> {
  for (let taken = 0; taken < count; ) {
    const block = await input.file.read(Math.min(blockBytes, count - taken), process.signal);
    if (block.length === 0) return;
    taken += block.length;
    if (sparseFrom !== undefined && block.every((byte) => byte === 0)) output.file.seek?.(sparseFrom + taken);
    else await output.file.write(block, process.signal);
  }
}

/** The block device that a path leads to, or undefined. */
export function deviceAt(process: RescueProcess, path: string): BlockDevice | undefined {
  const { path: real, node } = process.system.files.find(path, process.cwd);
  if (!node) throw new Errno('ENOENT');
  return node.kind === 'block' ? process.system.storage.find(real.split('/').pop() ?? '') : undefined;
}
