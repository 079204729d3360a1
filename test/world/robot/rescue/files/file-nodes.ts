import type { OpenFile } from '../io/open-file.ts';
import { Pipe } from '../io/pipe.ts';

/** How something is opened. */
export interface OpenMode {
  readonly read: boolean;
  readonly write: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly truncate?: boolean;
  /** The program that opens it: the ledger of disks names it. */
  readonly by?: string;
}

/** What can be in a directory. */
export type FileSystemNode = FileNode | DirectoryNode | LinkNode | FifoNode | DeviceNode | VirtualNode;

/** A file in RAM. */
export interface FileNode {
  readonly kind: 'file';
  mode: number;
  content: Buffer;
  /** Bytes of `content` that are in use. */
  length: number;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  mode: number;
  /** Names in it, for directories that are made up when somebody looks. */
  readonly list: () => ReadonlyMap<string, FileSystemNode>;
  /** The same, where names can be added. */
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

/** A device: opening it is its own affair. */
export interface DeviceNode {
  readonly kind: 'block' | 'character';
  readonly major: number;
  readonly minor: number;
  open(mode: OpenMode): OpenFile;
}

/** A file of `/proc` or `/sys`: made up when it is read. */
export interface VirtualNode {
  readonly kind: 'virtual';
  readonly mode: number;
  read(): string;
  write?(text: string): void;
}

export const newFile = (text = '', mode = 0o644): FileNode => {
  const content = Buffer.from(text);
  return { kind: 'file', mode, content, length: content.length };
};

export const newFifo = (): FifoNode => ({ kind: 'fifo', mode: 0o644, pipe: new Pipe() });

export const newVirtualFile = (read: () => string, mode = 0o444): VirtualNode => ({ kind: 'virtual', mode, read });

/** A directory of its own, with what is in it at first. */
export function newDirectory(entries: Readonly<Record<string, FileSystemNode>> = {}, mode = 0o755): DirectoryNode {
  const names = new Map(Object.entries(entries));
  return { kind: 'directory', mode, list: () => names, names };
}

/** A directory that is made up when somebody looks. */
export const newVirtualDirectory = (list: () => Readonly<Record<string, FileSystemNode>>): DirectoryNode => ({
  kind: 'directory',
  mode: 0o755,
  list: () => new Map(Object.entries(list())),
  names: undefined,
});
