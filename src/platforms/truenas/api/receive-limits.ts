const MiB = 2 ** 20;

/** How much is read of what a system sends. */
export const receiveLimits = {
  /** Of one message: lists of a large system run to megabytes. */
  messageBytes: 64 * MiB,
  /** Frames of one message. TrueNAS sends each in one. */
  fragments: 1024,
  /** Pieces that arrived of a message that is not whole. */
  chunks: 16_384,
  /** Of what it sends by itself. What is longer is not looked at: who listens looks again after a while in any case. */
  newsBytes: MiB / 4,
  /** All that comes together. */
  bytes: { burst: 512 * MiB, perSecond: 32 * MiB },
  messages: { burst: 20_000, perSecond: 1000 },
  /** Answers to its signs of life that it does not read. */
  unreadBytes: MiB,
  /** Of the name of a thing that has changed: a dataset's has 256. */
  nameCharacters: 1024,
  /** Of the reason for a refusal, and how many values it may find wrong. */
  reasonCharacters: 4096,
  refusals: 50,
} as const;
