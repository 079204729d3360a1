/** Size limits for the responses of a node. A compromised workload may control its node. */
export const talosLimits = {
  /** Size of one message. */
  messageBytes: 8 * 2 ** 20,
  /** Size of the YAML form of one resource: parsing blocks other work. */
  resourceBytes: 2 * 2 ** 20,
  /** Number of resources in one list, and bytes of all of them. */
  listItems: 2000,
  listBytes: 8 * 2 ** 20,
  /** Size of a small file, e.g. the boot id. */
  fileBytes: 4096,
} as const;
