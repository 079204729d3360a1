/** A disk that becomes a file system of the node. It is empty, and no other disk has both its device and its size. */
export interface NodeVolume {
  readonly name: string;
  /** E.g. `/dev/vdb`. */
  readonly device: string;
  readonly sizeGiB: number;
}
