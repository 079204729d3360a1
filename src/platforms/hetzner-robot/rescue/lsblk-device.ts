/** A block device in the tree of a disk. */
export interface LsblkDevice {
  readonly path: string;
  readonly type: string;
  readonly values: Readonly<Record<string, string>>;
  /** Types of all signatures on it, from wipefs: two on one device are listed twice. */
  readonly signatures: readonly string[];
}
