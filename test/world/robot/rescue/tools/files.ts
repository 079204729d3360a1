import { randomBytes } from 'node:crypto';
import { newDirectory, newFifo } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** Does something with each path. An error of the kernel is reported after `verb`, and the status is 1. */
async function each(
  process: RescueProcess,
  paths: readonly string[],
  verb: string,
  work: (path: string) => Promise<void> | void,
): Promise<number> {
  let status = 0;
  for (const path of paths) {
    try {
      await work(path);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`cannot ${verb} '${path}': ${error.message}`);
    }
  }
  return status;
}

const rm: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'rf' });
  const { files } = process.system;
  return await each(process, operands, 'remove', (path) => {
    const place = files.find(path, process.cwd, false);
    if (!place.node && options.has('f')) return;
    if (place.node?.kind === 'directory') {
      if (!options.has('r')) throw new Errno('EISDIR');
      place.node.names?.clear();
    }
    files.remove(place);
  });
};

const mkdir: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'p' });
  const { files } = process.system;
  return await each(process, operands, 'create directory', (path) => {
    if (!options.has('p')) return files.makeDirectory(path, process.cwd);
    const names = path.split('/');
    for (let index = 1; index <= names.length; index += 1) {
      const part = names.slice(0, index).join('/');
      if (part !== '' && !files.exists(part, process.cwd)) files.makeDirectory(part, process.cwd);
    }
  });
};

const mkfifo: RescueProgram = async (process) => {
  const { operands } = parseArguments(process, {});
  const { files } = process.system;
  return await each(process, operands, 'create fifo', (path) => {
    files.create(files.find(path, process.cwd, false), newFifo());
  });
};

/** `mktemp -d`. */
const mktemp: RescueProgram = async (process) => {
  if (!parseArguments(process, { short: 'd' }).options.has('d')) return await process.fail('only -d is simulated');
  const path = `/tmp/tmp.${randomBytes(5).toString('hex')}`;
  const { files } = process.system;
  files.create(files.find(path, '/', false), newDirectory({}, 0o700));
  await process.out(`${path}\n`);
  return 0;
};

const mv: RescueProgram = async (process) => {
  const [from = '', to = ''] = parseArguments(process, { short: 'f' }).operands;
  const { files } = process.system;
  return await each(process, [from], 'stat', () => {
    const place = files.find(from, process.cwd, false);
    const target = files.find(to, process.cwd, false);
    if (!place.node) throw new Errno('ENOENT');
    if (!place.parent.names || !target.parent.names) throw new Errno('EPERM');
    if (target.node?.kind === 'directory') throw new Errno('EISDIR');
    place.parent.names.delete(place.name);
    target.parent.names.set(target.name, place.node);
  });
};

/** `readlink -f`. */
const readlink: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'f' });
  if (!options.has('f')) return await process.fail('only -f is simulated');
  let status = 0;
  for (const path of operands) {
    try {
      await process.out(`${process.system.files.find(path, process.cwd).path}\n`);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = 1;
    }
  }
  return status;
};

const basename: RescueProgram = async (process) => {
  const [path = ''] = parseArguments(process, {}).operands;
  await process.out(`${path.split('/').pop() ?? ''}\n`);
  return 0;
};

/** `df -Pk` of the one file system that has a size. */
const df: RescueProgram = async (process) => {
  parseArguments(process, { short: 'Pk' });
  const { usedBytes, limitBytes } = process.system.files;
  const cells = [limitBytes, usedBytes, limitBytes - usedBytes].map((bytes) => Math.ceil(bytes / 1024));
  const percent = Math.ceil((usedBytes / limitBytes) * 100);
  const head = 'Filesystem     1024-blocks      Used Available Capacity Mounted on';
  await process.out(`${head}\ntmpfs ${cells.map((cell) => String(cell).padStart(11)).join(' ')} ${percent}% /\n`);
  return 0;
};

/** `stat -c %s`. */
const stat: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'c:' });
  if (options.get('c') !== '%s') return await process.fail('only -c %s is simulated');
  return await each(process, operands, 'statx', async (path) => {
    const node = process.system.files.get(path, process.cwd);
    await process.out(`${node.kind === 'file' ? node.length : 0}\n`);
  });
};

export const fileTools: Readonly<Record<string, RescueProgram>> = {
  ...{ rm, mkdir, mkfifo, mktemp, mv, readlink, basename, df, stat },
};
