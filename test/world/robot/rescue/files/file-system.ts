import { Errno } from '../io/errno.ts';
import { unlock } from '../io/file-locks.ts';
import type { OpenFile } from '../io/open-file.ts';
import {
  type DirectoryNode,
  type FileNode,
  type FileSystemNode,
  newDirectory,
  newFile,
  type OpenMode,
} from './file-nodes.ts';

/** A resolved path: the parent directory, and the node if it exists. */
export interface PathLookup {
  readonly parent: DirectoryNode;
  readonly name: string;
  /** Without links, from the root. */
  readonly path: string;
  readonly node: FileSystemNode | undefined;
}

/** The file system of a server: in RAM, with a fixed capacity. */
export class FileSystem {
  readonly root: DirectoryNode;
  readonly #limit: number;
  #used = 0;

  constructor(root: DirectoryNode, limitBytes: number) {
    this.root = root;
    this.#limit = limitBytes;
  }

  get usedBytes(): number {
    return this.#used;
  }

  get limitBytes(): number {
    return this.#limit;
  }

  /** Resolves a path up to its last name. Throws an Errno where that is not possible. */
  find(path: string, cwd: string, follow = true, depth = 0): PathLookup {
    if (path === '') throw new Errno('ENOENT');
    if (depth > 16) throw new Errno('ELOOP');
    const names = absolute(path, cwd).split('/').filter(Boolean);
    const trail: { name: string; node: DirectoryNode }[] = [{ name: '', node: this.root }];
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      const here = trail.at(-1) ?? { name: '', node: this.root };
      if (name === '.') continue;
      if (name === '..') {
        if (trail.length > 1) trail.pop();
        continue;
      }
      const base = trail.map((one) => one.name).join('/');
      const node = here.node.list().get(name);
      if (node?.kind === 'link' && (!isLast || follow)) {
        const rest = names.slice(index + 1).join('/');
        const target = absolute(node.target, base || '/');
        return this.find(rest ? `${target}/${rest}` : target, '/', follow, depth + 1);
      }
      if (isLast) return { parent: here.node, name, path: `${base}/${name}`, node };
      if (!node) throw new Errno('ENOENT');
      if (node.kind !== 'directory') throw new Errno('ENOTDIR');
      trail.push({ name, node });
    }
    const { node } = trail.at(-1) ?? { node: this.root };
    const path_ = trail.map((one) => one.name).join('/') || '/';
    const parent = trail.at(-2)?.node ?? this.root;
    return { parent, name: trail.at(-1)?.name ?? '', path: path_, node };
  }

  /** The node of a path. Throws ENOENT without one. */
  get(path: string, cwd: string, follow = true): FileSystemNode {
    const { node } = this.find(path, cwd, follow);
    if (!node) throw new Errno('ENOENT');
    return node;
  }

  exists(path: string, cwd: string): boolean {
    try {
      this.get(path, cwd);
      return true;
    } catch (error) {
      if (error instanceof Errno) return false;
      throw error;
    }
  }

  /** Opens a path. A FIFO waits for its other end. */
  async open(path: string, cwd: string, mode: OpenMode, signal: AbortSignal): Promise<OpenFile> {
    const place = this.find(path, cwd);
    const node = place.node ?? (mode.create ? this.create(place, newFile()) : undefined);
    if (!node) throw new Errno('ENOENT');
    switch (node.kind) {
      case 'directory':
        throw new Errno('EISDIR');
      case 'file':
        return this.#openFile(node, mode);
      case 'fifo':
        return await openFifo(node, mode, signal);
      case 'block':
      case 'character':
        return node.open(mode);
      case 'virtual':
        return openVirtual(node, mode);
      case 'link':
        throw new Errno('ELOOP');
    }
  }

  /** Adds a node at an unused path. */
  create<N extends FileSystemNode>(place: PathLookup, node: N): N {
    if (place.node) throw new Errno('EEXIST');
    if (!place.parent.names) throw new Errno('EROFS');
    if (place.name === '') throw new Errno('EEXIST');
    place.parent.names.set(place.name, node);
    return node;
  }

  makeDirectory(path: string, cwd: string): void {
    this.create(this.find(path, cwd, false), newDirectory());
  }

  remove({ parent, name, node }: PathLookup): void {
    if (!node) throw new Errno('ENOENT');
    if (node.kind === 'directory' && node.list().size > 0) throw new Errno('ENOTEMPTY');
    if (!parent.names) throw new Errno('EPERM');
    parent.names.delete(name);
    if (node.kind === 'file') this.#account(-node.length);
  }

  #openFile(node: FileNode, mode: OpenMode): OpenFile {
    if (mode.truncate && mode.write) this.#resize(node, 0);
    let position = 0;
    const opened: OpenFile = {
      node,
      read: async (max) => {
        if (!mode.read) throw new Errno('EBADF');
        const bytes = Buffer.from(node.content.subarray(position, Math.min(node.length, position + max)));
        position += bytes.length;
        return bytes;
      },
      write: async (bytes) => {
        if (!mode.write) throw new Errno('EBADF');
        if (mode.append) position = node.length;
        this.#resize(node, Math.max(node.length, position + bytes.length));
        bytes.copy(node.content, position);
        position += bytes.length;
      },
      seek: (offset) => {
        position = offset;
      },
      release: () => unlock(opened),
    };
    return opened;
  }

  /** Files without a name count until the system ends; such a small leak is acceptable. */
  #resize(node: FileNode, length: number): void {
    this.#account(length - node.length);
    if (length > node.content.length) {
      const grown = Buffer.alloc(Math.max(length, 2 * node.content.length, 64));
      node.content.copy(grown, 0, 0, node.length);
      node.content = grown;
    }
    if (length < node.length) node.content.fill(0, length, node.length);
    node.length = length;
  }

  #account(bytes: number): void {
    if (bytes > 0 && this.#used + bytes > this.#limit) throw new Errno('ENOSPC');
    this.#used += bytes;
  }
}

/** From the root. */
const absolute = (path: string, cwd: string): string => (path.startsWith('/') ? path : `${cwd}/${path}`);

async function openFifo(
  node: Extract<FileSystemNode, { kind: 'fifo' }>,
  mode: OpenMode,
  signal: AbortSignal,
): Promise<OpenFile> {
  if (mode.read && mode.write) throw new Errno('EINVAL');
  const opened = mode.read ? node.pipe.openReader() : node.pipe.openWriter();
  try {
    await node.pipe.awaitOther(mode.read ? 'reader' : 'writer', signal);
  } catch (error) {
    opened.release?.();
    throw error;
  }
  return opened;
}

function openVirtual(node: Extract<FileSystemNode, { kind: 'virtual' }>, mode: OpenMode): OpenFile {
  if (mode.write) throw new Errno('EACCES');
  let rest: Buffer | undefined;
  return {
    node,
    read: async (max) => {
      rest ??= Buffer.from(node.read());
      const taken = rest.subarray(0, max);
      rest = rest.subarray(taken.length);
      return taken;
    },
    write: async () => {},
  };
}
