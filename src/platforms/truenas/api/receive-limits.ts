const MiB = 2 ** 20;

/** Limits of the data that is read from a system. */
export const receiveLimits = {
  /** Bytes of one message: lists of a large system are megabytes. */
  messageBytes: 64 * MiB,
  /** Frames of one message. TrueNAS sends each in one. */
  fragments: 1024,
  /** Fragments of an incomplete message. */
  chunks: 16_384,
  /** Bytes of a notification. A longer one is ignored: listeners also observe at intervals. */
  newsBytes: MiB / 4,
  /** All received data, as bytes and as messages. Reading pauses above these rates. */
  bytes: { burst: 512 * MiB, perSecond: 32 * MiB },
  messages: { burst: 20_000, perSecond: 1000 },
  /** Pongs that the system does not read. */
  unreadBytes: MiB,
  /** Characters of the name of a changed object: a dataset's has 256. */
  nameCharacters: 1024,
  /** Characters of an error message, and number of refused values in it. */
  reasonCharacters: 4096,
  validationErrors: 50,
} as const;
