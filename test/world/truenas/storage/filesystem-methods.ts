import { chmod, mkdir, open, readdir, stat } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { CallError, errnos, PythonException } from '../middleware/errors.ts';
import type { JobHandle } from '../middleware/job-queue.ts';
import { type ApiMethod, type JobPipes, plainMethod } from '../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  integerModel,
  nonEmptyTextModel,
  nullableModel,
  objectModel,
  requiredField,
} from '../middleware/parameter-model.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { type NasState, sleepInWorldTime } from '../nas-state.ts';
import {
  existsOnNas,
  fileModeOf,
  filesystemOf,
  freeBytesAt,
  isLocked,
  isWritable,
  mountpointOf,
  realPath,
} from './dataset-files.ts';

const read = ['FILESYSTEM_ATTRS_READ'];
const putOptions = objectModel({
  append: defaultedField(booleanModel, false),
  mode: defaultedField(nullableModel(integerModel()), null),
});
/** `filesystem.*`. There is no method that removes a file. */
export const filesystemMethods: readonly ApiMethod[] = [
  plainMethod('filesystem.stat', [{ name: 'path', field: requiredField(nonEmptyTextModel) }], read, ([path], { nas }) =>
    statPath(nas, String(path)),
  ),
  plainMethod(
    'filesystem.listdir',
    [{ name: 'path', field: requiredField(nonEmptyTextModel) }, ...queryParameters],
    read,
    async ([path, filters, options], { nas }) =>
      applyQuery(await listFolder(nas, String(path)), filters, options as QueryOptions),
  ),
  {
    name: 'filesystem.put',
    parameters: [
      { name: 'path', field: requiredField(nonEmptyTextModel) },
      { name: 'options', field: defaultedField(putOptions, { append: false, mode: null }) },
    ],
    access: ['FULL_ADMIN'],
    job: { reads: true },
    work: ([path, options], { nas }, job, pipes) => putFile(nas, String(path), options as PutOptions, job, pipes),
  },
];

async function statPath(nas: NasState, path: string): Promise<Entry> {
  if (!path.startsWith('/')) throw new CallError(`${path}: path must be absolute`, errnos.EINVAL);
  if (!existsOnNas(nas, path)) throw new CallError(`Path ${path} not found`, errnos.ENOENT);
  const { real, common } = await statRealFile(nas, path);
  const seconds = (milliseconds: number) => milliseconds / 1000;
  return {
    realpath: common.realpath,
    type: common.type,
    size: common.size,
    allocation_size: common.allocation_size,
    mode: common.mode,
    uid: common.uid,
    gid: common.gid,
    atime: seconds(real.atimeMs),
    mtime: seconds(real.mtimeMs),
    ctime: seconds(real.ctimeMs),
    btime: seconds(real.birthtimeMs),
    mount_id: common.mount_id,
    dev: common.mount_id,
    inode: real.ino,
    nlink: real.nlink,
    is_mountpoint: common.is_mountpoint,
    is_ctldir: false,
    attributes: common.attributes,
    user: common.uid === 0 ? 'root' : common.uid === 986 ? 'libvirt-qemu' : null,
    group: common.gid === 0 ? 'root' : common.gid === 986 ? 'libvirt-qemu' : null,
    acl: false,
  };
}

async function statRealFile(nas: NasState, path: string) {
  const at = posix.normalize(path).replace(/(.)\/$/, '$1');
  const real = await stat(realPath(nas, at));
  const isFolder = real.isDirectory();
  const mark = fileModeOf(nas, at, isFolder);
  const dataset = filesystemOf(nas, at);
  const isMount = dataset !== undefined && mountpointOf(dataset.id) === at;
  const mountId = dataset ? [...nas.datasets.keys()].indexOf(dataset.id) + 64 : 35;
  const common = {
    realpath: at,
    type: isFolder ? 'DIRECTORY' : real.isFile() ? 'FILE' : 'OTHER',
    size: isFolder ? 2 : real.size,
    allocation_size: isFolder ? 512 : real.blocks * 512,
    mode: mark.mode | (isFolder ? 0o040000 : 0o100000),
    uid: mark.uid,
    gid: mark.gid,
    acl: false,
    is_mountpoint: isMount,
    is_ctldir: false,
    mount_id: mountId,
    attributes: isMount ? ['MOUNT_ROOT'] : [],
  };
  return { real, common };
}

async function listFolder(nas: NasState, path: string): Promise<Entry[]> {
  if (!existsOnNas(nas, path)) throw new CallError(`Directory ${path} does not exist`, errnos.ENOENT);
  if (!(await stat(realPath(nas, path))).isDirectory()) {
    throw new CallError(`Path ${path} is not a directory`, errnos.ENOTDIR);
  }
  const names = (await readdir(realPath(nas, path))).filter((name) => existsOnNas(nas, posix.join(path, name))).sort();
  return Promise.all(
    names.map(async (name) => {
      const full = posix.join(path, name);
      const { common } = await statRealFile(nas, full);
      return { name, path: full, ...common, xattrs: [], zfs_attrs: ['ARCHIVE'] };
    }),
  );
}

interface PutOptions {
  readonly append: boolean;
  readonly mode: number | null;
}

/** As on a real system, real time passes between the last byte of the file and the end of the job. */
const jobEndDelaySeconds = 1;
async function putFile(
  nas: NasState,
  path: string,
  options: PutOptions,
  job: JobHandle,
  { input: pipe, inputStored }: JobPipes,
): Promise<true> {
  if (!pipe) throw new PythonException('ValueError', "Pipe 'input' is not open");
  await writeFileContent(nas, path, options, pipe);
  inputStored?.();
  if (!job.signal.aborted) await sleepInWorldTime(nas, jobEndDelaySeconds);
  return true;
}

async function writeFileContent(
  nas: NasState,
  path: string,
  options: PutOptions,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const dataset = filesystemOf(nas, path);
  if (dataset && isLocked(nas, dataset)) {
    const message = `Unable to put contents at '${path}' as the path exists on a locked dataset`;
    throw new CallError(message, errnos.EINVAL);
  }
  if (!path.startsWith('/')) throw new PythonException('FileNotFoundError', "[Errno 2] No such file or directory: ''");
  const real = realPath(nas, path);
  if (existsOnNas(nas, path) && (await stat(real)).isDirectory()) {
    throw new PythonException('IsADirectoryError', `[Errno 21] Is a directory: '${path}'`);
  }
  if (dataset && !isWritable(nas, dataset.id)) throw new PythonException('OSError', '[Errno 5] Input/output error');
  await mkdir(dirname(real), { recursive: true });
  let left = freeBytesAt(nas, path);
  const handle = await open(real, options.append ? 'a' : 'w');
  try {
    for await (const chunk of chunks) {
      left -= chunk.length;
      if (left < 0) throw new PythonException('OSError', '[Errno 28] No space left on device');
      await handle.write(chunk);
    }
  } finally {
    await handle.close();
  }
  await chmod(real, 0o644);
  const before = fileModeOf(nas, path, false);
  nas.fileMarks.set(posix.normalize(path), { ...before, mode: options.mode || before.mode });
}
