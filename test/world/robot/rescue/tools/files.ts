import { randomBytes } from 'node:crypto';
import { type FileSystemNode, newDirectory, newFifo, newFile } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** Does something with each operand; what the kernel refuses is told in the program's words. */
async function each(
  process: RescueProcess,
  operands: readonly string[],
  work: (path: string) => Promise<void> | void,
  complaint: (path: string, reason: string) => string,
): Promise<number> {
  let status = 0;
  for (const path of operands) {
    try {
      await work(path);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(complaint(path, error.message));
    }
  }
  return status;
}

const quoted = (path: string): string => `'${path}'`;

const rm: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'rRfvd',
    long: ['recursive', 'force'],
    same: { recursive: 'r', force: 'f', R: 'r' },
  });
  const { files } = process.system;
  return await each(
    process,
    operands,
    (path) => {
      const place = files.find(path, process.cwd, false);
      if (!place.node && options.has('f')) return;
      if (place.node?.kind === 'directory') {
        if (!options.has('r')) throw new Errno('EISDIR');
        place.node.names?.clear();
      }
      files.remove(place);
    },
    (path, reason) => `cannot remove ${quoted(path)}: ${reason}`,
  );
};

const mkdir: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'pm:v',
    long: ['parents', 'mode='],
    same: { parents: 'p', mode: 'm' },
  });
  const { files } = process.system;
  return await each(
    process,
    operands,
    (path) => {
      if (!options.has('p')) return files.makeDirectory(path, process.cwd);
      const names = path.split('/');
      for (let index = 1; index <= names.length; index += 1) {
        const part = names.slice(0, index).join('/');
        if (part !== '' && !files.exists(part, process.cwd)) files.makeDirectory(part, process.cwd);
      }
    },
    (path, reason) => `cannot create directory ${quoted(path)}: ${reason}`,
  );
};

const rmdir: RescueProgram = async (process) =>
  await each(
    process,
    process.args.slice(1),
    (path) => {
      const place = process.system.files.find(path, process.cwd, false);
      if (place.node && place.node.kind !== 'directory') throw new Errno('ENOTDIR');
      process.system.files.remove(place);
    },
    (path, reason) => `failed to remove ${quoted(path)}: ${reason}`,
  );

const mkfifo: RescueProgram = async (process) => {
  const { operands } = parseArguments(process.args.slice(1), { short: 'm:' });
  const { files } = process.system;
  return await each(
    process,
    operands,
    (path) => void files.create(files.find(path, process.cwd, false), newFifo()),
    (path, reason) => `cannot create fifo ${quoted(path)}: ${reason}`,
  );
};

const mktemp: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'dup:qt',
    long: ['directory', 'dry-run', 'tmpdir?='],
    same: { directory: 'd', 'dry-run': 'u', tmpdir: 'p' },
  });
  const [template = 'tmp.XXXXXXXXXX'] = operands;
  if (!/X{3,}/.test(template)) return await process.fail(`too few X's in template ${quoted(template)}`);
  const letters = [...randomBytes(64)].map(
    (byte) => 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'[byte % 62],
  );
  const name = template.replace(/X{3,}(?!.*X{3})/, (run) => letters.splice(0, run.length).join(''));
  const isNamed = operands.length === 0 || options.has('p') || options.has('t');
  const path = isNamed && !name.startsWith('/') ? `${options.get('p') || '/tmp'}/${name}` : name;
  const { files } = process.system;
  if (!options.has('u'))
    files.create(files.find(path, process.cwd, false), options.has('d') ? newDirectory({}, 0o700) : newFile('', 0o600));
  await process.out(`${path}\n`);
  return 0;
};

const touch: RescueProgram = async (process) =>
  await each(
    process,
    process.args.slice(1).filter((arg) => !arg.startsWith('-')),
    async (path) => (await process.open(path, { read: false, write: true, create: true })).close(),
    (path, reason) => `cannot touch ${quoted(path)}: ${reason}`,
  );

const chmod: RescueProgram = async (process) => {
  const [mode = '', ...paths] = process.args.slice(1).filter((arg) => arg !== '-R');
  return await each(
    process,
    paths,
    (path) => {
      const node = process.system.files.get(path, process.cwd);
      if (!('mode' in node) || node.kind === 'virtual') return;
      if (/^[0-7]+$/.test(mode)) node.mode = Number.parseInt(mode, 8);
      else if (/^[ugoa]*\+.*x/.test(mode)) node.mode |= 0o111;
    },
    (path, reason) => `cannot access ${quoted(path)}: ${reason}`,
  );
};

const cp: RescueProgram = async (process) => {
  const { operands } = parseArguments(process.args.slice(1), { short: 'afprR' });
  const [from = '', to = ''] = operands;
  return await each(
    process,
    [from],
    async () => {
      const target = await targetOf(process, from, to);
      const bytes = await process.readFile(from);
      const opened = await process.open(target, { read: false, write: true, create: true, truncate: true });
      try {
        await opened.file.write(bytes, process.signal);
      } finally {
        opened.close();
      }
    },
    (path, reason) => `cannot copy ${quoted(path)} to ${quoted(to)}: ${reason}`,
  );
};

async function targetOf({ system, cwd }: RescueProcess, from: string, to: string): Promise<string> {
  const isDirectory = system.files.exists(to, cwd) && system.files.get(to, cwd).kind === 'directory';
  return isDirectory ? `${to}/${from.split('/').pop()}` : to;
}

const mv: RescueProgram = async (process) => {
  const [from = '', to = ''] = process.args.slice(1).filter((arg) => !arg.startsWith('-'));
  const { files } = process.system;
  return await each(
    process,
    [from],
    async () => {
      const place = files.find(from, process.cwd, false);
      if (!place.node || !place.parent.names) throw new Errno(place.node ? 'EPERM' : 'ENOENT');
      const target = files.find(await targetOf(process, from, to), process.cwd, false);
      if (!target.parent.names) throw new Errno('EROFS');
      place.parent.names.delete(place.name);
      target.parent.names.set(target.name, place.node);
    },
    (path, reason) => `cannot stat ${quoted(path)}: ${reason}`,
  );
};

const ln: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), { short: 'sfn' });
  const [target = '', path = ''] = operands;
  const { files } = process.system;
  return await each(
    process,
    [path],
    () => {
      const place = files.find(path, process.cwd, false);
      if (place.node && options.has('f')) place.parent.names?.delete(place.name);
      const node: FileSystemNode = options.has('s') ? { kind: 'link', target } : files.get(target, process.cwd);
      files.create(options.has('f') ? { ...place, node: undefined } : place, node);
    },
    (one, reason) => `failed to create symbolic link ${quoted(one)}: ${reason}`,
  );
};

const readlink: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'fenmq',
    long: ['canonicalize', 'canonicalize-existing'],
    same: { canonicalize: 'f', 'canonicalize-existing': 'e' },
  });
  const isCanonical = ['f', 'e', 'm'].some((one) => options.has(one));
  let status = 0;
  for (const path of operands) {
    const found = resolve(process, path, isCanonical, options.has('e'));
    if (found === undefined) status = 1;
    else await process.out(`${found}${options.has('n') ? '' : '\n'}`);
  }
  return status;
};

const realpath: RescueProgram = async (process) => {
  let status = 0;
  for (const path of process.args.slice(1).filter((arg) => !arg.startsWith('-'))) {
    const found = resolve(process, path, true, process.args.includes('-e'));
    if (found === undefined) status = await process.fail(`${path}: No such file or directory`);
    else await process.out(`${found}\n`);
  }
  return status;
};

function resolve(
  { system, cwd }: RescueProcess,
  path: string,
  isCanonical: boolean,
  mustExist: boolean,
): string | undefined {
  try {
    const place = system.files.find(path, cwd, isCanonical);
    if (isCanonical) return mustExist && !place.node ? undefined : place.path;
    return place.node?.kind === 'link' ? place.node.target : undefined;
  } catch (error) {
    if (error instanceof Errno) return undefined;
    throw error;
  }
}

const basename: RescueProgram = async (process) => {
  const [path = '', suffix = ''] = process.args.slice(1);
  const name = path.replace(/\/+$/, '').split('/').pop() ?? '';
  await process.out(
    `${suffix && name.endsWith(suffix) && name !== suffix ? name.slice(0, -suffix.length) : name || '/'}\n`,
  );
  return 0;
};

const dirname: RescueProgram = async (process) => {
  for (const path of process.args.slice(1)) {
    const trimmed = path.replace(/\/+$/, '');
    const at = trimmed.lastIndexOf('/');
    await process.out(`${at < 0 ? '.' : at === 0 ? '/' : trimmed.slice(0, at)}\n`);
  }
  return 0;
};

const df: RescueProgram = async (process) => {
  const { usedBytes, limitBytes } = process.system.files;
  const blocks = (bytes: number): string => String(Math.ceil(bytes / 1024)).padStart(9);
  const free = limitBytes - usedBytes;
  await process.out(
    `Filesystem     1K-blocks      Used Available Use% Mounted on\ntmpfs          ${blocks(limitBytes)} ${blocks(usedBytes)} ${blocks(free)} ${String(Math.ceil((usedBytes / limitBytes) * 100)).padStart(3)}% /\n`,
  );
  return 0;
};

const stat: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'Lc:',
    long: ['format=', 'printf='],
    same: { format: 'c' },
  });
  return await each(
    process,
    operands,
    async (path) => {
      const node = process.system.files.get(path, process.cwd, options.has('L'));
      const kinds = {
        file: 'regular file',
        virtual: 'regular file',
        directory: 'directory',
        link: 'symbolic link',
        fifo: 'fifo',
        block: 'block special file',
        character: 'character special file',
      };
      const size = node.kind === 'file' ? node.length : 0;
      const shown = (options.get('c') ?? '%n').replace(
        /%([nsF])/g,
        (_, letter: string) => ({ n: path, s: String(size), F: kinds[node.kind] })[letter] ?? '',
      );
      await process.out(`${shown}\n`);
    },
    (path, reason) => `cannot statx ${quoted(path)}: ${reason}`,
  );
};

export const fileTools: Readonly<Record<string, RescueProgram>> = {
  ...{ rm, mkdir, rmdir, mkfifo, mktemp, touch, chmod, cp, mv, ln, readlink, realpath, basename, dirname, df, stat },
};
