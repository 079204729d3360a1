/** When a call began. Its answer shows the state of then, or a later one. */
export interface ReadStamp {
  readonly version: number;
  /** By the monotonic clock. */
  readonly at: number;
}
