/** When a call began. Its answer shows the state of then, or a later one. */
export interface ReadStamp {
  readonly version: number;
  /** By the monotonic clock. */
  readonly at: number;
}

/** True when the call of `one` began after that of `other`. */
export const isNewer = (one: ReadStamp, other: ReadStamp): boolean =>
  one.version > other.version || (one.version === other.version && one.at > other.at);
