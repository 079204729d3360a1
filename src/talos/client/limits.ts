/** How much is read of what a node answers. Whoever runs workloads on it may have come to own it. */
export const talosLimits = {
  /** Of one message. */
  messageBytes: 8 * 2 ** 20,
  /** Of the YAML form of one resource: reading it takes time that others wait for. */
  resourceBytes: 2 * 2 ** 20,
  /** Resources of one list, and bytes of all of them. */
  listItems: 2000,
  listBytes: 8 * 2 ** 20,
  /** Of a small file, e.g. the boot id. */
  fileBytes: 4096,
} as const;
