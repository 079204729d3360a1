import type { FileSystemNode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `ls`: names, or with `-l` what they are. Without a terminal there is one name on a line. */
export const ls: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'laA1dhrtSnF',
    long: ['all', 'color?='],
    same: { all: 'a' },
  });
  const paths = operands.length > 0 ? [...operands].sort() : ['.'];
  let status = 0;
  const files: [string, FileSystemNode][] = [];
  const directories: [string, ReadonlyMap<string, FileSystemNode>][] = [];
  for (const path of paths) {
    try {
      const node = process.system.files.get(path, process.cwd, !options.has('l') || path.endsWith('/'));
      if (node.kind === 'directory' && !options.has('d')) directories.push([path, node.list()]);
      else files.push([path, node]);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`cannot access '${path}': ${error.message}`, 2);
    }
  }
  if (files.length > 0) await show(process, files, options.has('l'));
  for (const [index, [path, entries]] of directories.entries()) {
    if (paths.length > 1) await process.out(`${index > 0 || files.length > 0 ? '\n' : ''}${path}:\n`);
    const hidden = options.has('a') || options.has('A');
    const names = [...entries].filter(([name]) => hidden || !name.startsWith('.')).sort(([a], [b]) => (a < b ? -1 : 1));
    if (options.has('l')) await process.out('total 0\n');
    await show(process, names, options.has('l'));
  }
  return status;
};

async function show(
  process: RescueProcess,
  entries: readonly (readonly [string, FileSystemNode])[],
  isLong: boolean,
): Promise<void> {
  for (const [name, node] of entries) await process.out(isLong ? `${longLine(name, node)}\n` : `${name}\n`);
}

const letters = { file: '-', virtual: '-', directory: 'd', link: 'l', fifo: 'p', block: 'b', character: 'c' } as const;

function longLine(name: string, node: FileSystemNode): string {
  const mode = 'mode' in node ? node.mode : node.kind === 'link' ? 0o777 : 0o660;
  const rights = [6, 3, 0].map((shift) =>
    ['r', 'w', 'x'].map((one, bit) => ((mode >> shift) & (4 >> bit) ? one : '-')).join(''),
  );
  const isDevice = node.kind === 'block' || node.kind === 'character';
  const size = isDevice
    ? `${node.major}, ${String(node.minor).padStart(3)}`
    : String(node.kind === 'file' ? node.length : node.kind === 'link' ? node.target.length : 0);
  const group = node.kind === 'block' ? 'disk' : 'root';
  const target = node.kind === 'link' ? ` -> ${node.target}` : '';
  const now = new Date().toUTCString();
  const date = `${now.slice(8, 11)} ${now.slice(5, 7).replace(/^0/, ' ')} ${now.slice(17, 22)}`;
  return `${letters[node.kind]}${rights.join('')} 1 root ${group} ${size.padStart(5)} ${date} ${name}${target}`;
}
