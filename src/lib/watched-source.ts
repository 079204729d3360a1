/**
 * Passes on what a source yields, and remembers the error with which the source has failed. The consumer may
 * fail, too, and may wrap the error of the source in one of its own: only here the two can be told apart.
 */
export class WatchedSource<T> implements AsyncIterable<T> {
  readonly #source: AsyncIterable<T>;
  #failure: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterable<T>) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const source = this.#source[Symbol.asyncIterator]();
    const next = async () => {
      try {
        return await source.next();
      } catch (error) {
        this.#failure = { error };
        throw error;
      }
    };
    try {
      for (let result = await next(); !result.done; result = await next()) yield result.value;
    } finally {
      await source.return?.();
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** The error of the source if it has failed; else this one, of the consumer. */
  errorOf(error: unknown): unknown {
    return this.#failure ? this.#failure.error : error;
  }
}
