import { chmod, mkdir, open, readdir, stat } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { CallError, errnos, PythonException } from '../middleware/errors.ts';
import type { JobHandle } from '../middleware/job-queue.ts';
import type { ApiMethod, JobPipes } from '../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  integerModel,
  nonEmptyTextModel,
  nullableModel,
  objectModel,
  requiredField,
  textModel,
} from '../middleware/parameter-model.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { type NasState, sleepInWorldTime } from '../nas-state.ts';
import {
  computeSpace,
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
const mkdirOptions = objectModel(
  { mode: defaultedField(textModel(), '755'), raise_chmod_error: defaultedField(booleanModel, true) },
  { name: 'FilesystemMkdirOptions' },
);
const mkdirData = objectModel(
  {
    path: requiredField(nonEmptyTextModel),
    options: defaultedField(mkdirOptions, { mode: '755', raise_chmod_error: true }),
  },
  { name: 'FilesystemMkdirArgs' },
);
const receiveOptions = objectModel({
  append: defaultedField(booleanModel, false),
  mode: defaultedField(nullableModel(integerModel()), null),
  uid: defaultedField(integerModel(), -1),
  gid: defaultedField(integerModel(), -1),
});

/** `filesystem.*`. There is no method that removes a file. */
export const filesystemMethods: readonly ApiMethod[] = [
  {
    name: 'filesystem.stat',
    parameters: [{ name: 'path', field: requiredField(nonEmptyTextModel) }],
    access: read,
    run: ([path], { nas }) => statPath(nas, String(path)),
  },
  {
    name: 'filesystem.listdir',
    parameters: [{ name: 'path', field: requiredField(nonEmptyTextModel) }, ...queryParameters],
    access: read,
    run: async ([path, filters, options], { nas }) =>
      applyQuery(await listFolder(nas, String(path)), filters, options as QueryOptions),
  },
  {
    name: 'filesystem.statfs',
    parameters: [{ name: 'path', field: requiredField(nonEmptyTextModel) }],
    access: read,
    run: ([path], { nas }) => statFilesystem(nas, String(path)),
  },
  {
    name: 'filesystem.mkdir',
    parameters: [{ name: 'filesystem_mkdir', field: requiredField(mkdirData) }],
    access: ['FILESYSTEM_DATA_WRITE'],
    run: ([data], { nas }) => makeFolder(nas, data as { path: string; options: { mode: string } }),
  },
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
  {
    name: 'filesystem.file_receive',
    parameters: [
      { name: 'path', field: requiredField(nonEmptyTextModel) },
      { name: 'content', field: requiredField(textModel({ min: 1, max: 2_097_152 })) },
      { name: 'options', field: defaultedField(receiveOptions, { append: false, mode: null, uid: -1, gid: -1 }) },
    ],
    access: ['FULL_ADMIN'],
    run: async ([path, content, options], { nas }) => {
      await writeFileContent(nas, String(path), options as PutOptions, [Buffer.from(String(content), 'base64')]);
      return true;
    },
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

async function statFilesystem(nas: NasState, path: string): Promise<Entry> {
  if (!path.startsWith('/mnt/')) throw new CallError('Path must start with "/mnt/"');
  if (path === '/mnt/') throw new CallError('Path must include more than "/mnt/"');
  const dataset = filesystemOf(nas, path);
  if (!existsOnNas(nas, path) || !dataset) throw new CallError('Path not found.', errnos.ENOENT);
  const space = computeSpace(nas).get(dataset.id);
  const used = space?.own ?? 0;
  const free = space?.available ?? 0;
  const block = 131072;
  return {
    flags: ['RW', 'NOATIME', 'XATTR', 'POSIXACL', 'CASESENSITIVE'],
    fstype: 'zfs',
    source: dataset.id,
    dest: mountpointOf(dataset.id),
    blocksize: block,
    total_blocks: Math.floor((used + free) / block),
    free_blocks: Math.floor(free / block),
    avail_blocks: Math.floor(free / block),
    files: Math.floor(free / 512),
    free_files: Math.floor(free / 512),
    name_max: 255,
    fsid: '1',
    total_bytes: used + free,
    free_bytes: free,
    avail_bytes: free,
    total_blocks_str: String(Math.floor((used + free) / block)),
    free_blocks_str: String(Math.floor(free / block)),
    avail_blocks_str: String(Math.floor(free / block)),
    total_bytes_str: String(used + free),
    free_bytes_str: String(free),
    avail_bytes_str: String(free),
  };
}

async function makeFolder(nas: NasState, data: { path: string; options: { mode: string } }): Promise<Entry> {
  const { path } = data;
  if (!path.startsWith('/')) throw new CallError(`${path}: not an absolute path.`, errnos.EINVAL);
  if (existsOnNas(nas, path)) throw new CallError(`${path}: path already exists.`, errnos.EEXIST);
  const at = posix.normalize(path);
  if (!at.startsWith('/mnt/')) throw new CallError(`${path}: path not permitted`, errnos.EPERM);
  if (!existsOnNas(nas, dirname(at))) {
    throw new PythonException('FileNotFoundError', `[Errno 2] No such file or directory: '${path}'`);
  }
  await mkdir(realPath(nas, at));
  nas.fileMarks.set(at, { mode: Number.parseInt(data.options.mode, 8), uid: 0, gid: 0 });
  const { common } = await statRealFile(nas, at);
  return { name: posix.basename(at), path, ...common, xattrs: [], zfs_attrs: ['ARCHIVE'] };
}

interface PutOptions {
  readonly append: boolean;
  readonly mode: number | null;
  readonly uid?: number;
  readonly gid?: number;
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
  const owner = (wanted: number | undefined, now: number) => (wanted === undefined || wanted < 0 ? now : wanted);
  const mark = {
    mode: options.mode || before.mode,
    uid: owner(options.uid, before.uid),
    gid: owner(options.gid, before.gid),
  };
  nas.fileMarks.set(posix.normalize(path), mark);
}
