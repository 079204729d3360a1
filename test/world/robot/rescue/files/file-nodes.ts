import type { OpenFile } from '../io/open-file.ts';
import { Pipe } from '../io/pipe.ts';

/** The mode of an open call. */
export interface OpenMode {
  readonly read: boolean;
  readonly write: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly truncate?: boolean;
  /** The opening program: the ledger of disks names it. */
  readonly by?: string;
}

/** The entries of a directory. */
export type FileSystemNode = FileNode | DirectoryNode | LinkNode | FifoNode | DeviceNode | VirtualNode;

/** A file in RAM. */
export interface FileNode {
  readonly kind: 'file';
  mode: number;
  content: Buffer;
  /** Used bytes of `content`. */
  length: number;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  mode: number;
  /** Entries of a directory that are computed on access. */
  readonly list: () => ReadonlyMap<string, FileSystemNode>;
  /** The same for a directory in which entries can be created. */
  readonly names: Map<string, FileSystemNode> | undefined;
}

export interface LinkNode {
  readonly kind: 'link';
  readonly target: string;
}

export interface FifoNode {
  readonly kind: 'fifo';
  mode: number;
  readonly pipe: Pipe;
}

/** A device: it implements its own open. */
export interface DeviceNode {
  readonly kind: 'block' | 'character';
  readonly major: number;
  readonly minor: number;
  open(mode: OpenMode): OpenFile;
}

/** A file of `/proc` or `/sys`: computed on read. */
export interface VirtualNode {
  readonly kind: 'virtual';
  readonly mode: number;
  read(): string;
}

export const newFile = (text = '', mode = 0o644): FileNode => {
  const content = Buffer.from(text);
  return { kind: 'file', mode, content, length: content.length };
};

export const newFifo = (): FifoNode => ({ kind: 'fifo', mode: 0o644, pipe: new Pipe() });

export const newVirtualFile = (read: () => string, mode = 0o444): VirtualNode => ({ kind: 'virtual', mode, read });

/** A directory with stored entries, and its initial content. */
export function newDirectory(entries: Readonly<Record<string, FileSystemNode>> = {}, mode = 0o755): DirectoryNode {
  const names = new Map(Object.entries(entries));
  return { kind: 'directory', mode, list: () => names, names };
}

/** A directory with computed entries. */
export const newVirtualDirectory = (list: () => Readonly<Record<string, FileSystemNode>>): DirectoryNode => ({
  kind: 'directory',
  mode: 0o755,
  list: () => new Map(Object.entries(list())),
  names: undefined,
});
