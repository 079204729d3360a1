import type { Readable } from 'node:stream';

/**
 * The content of a stream in batches of at least `size` bytes; the last one is shorter. The iterator of Node
 * resumes its reader for each piece that arrives, which takes longer than to copy a small one. A batch is valid until the next one is
 * asked for.
 */
export async function* readBatches(stream: Readable, size: number): AsyncGenerator<Uint8Array> {
  let batch = Buffer.allocUnsafeSlow(2 * size);
  let used = 0;
  let isOver = stream.readableEnded || stream.destroyed;
  let failure: { readonly error: unknown } | undefined;
  let wake = (): void => {};
  const onData = (piece: Buffer): void => {
    if (used + piece.length > batch.length) batch = Buffer.concat([batch.subarray(0, used)], used + piece.length);
    batch.set(piece, used);
    used += piece.length;
    if (used < size) return;
    stream.pause();
    wake();
  };
  const onError = (error: unknown): void => {
    failure = { error };
    wake();
  };
  const onEnd = (): void => {
    isOver = true;
    wake();
  };
  stream.on('data', onData).on('error', onError).on('end', onEnd).on('close', onEnd);
  try {
    while (!isOver) {
      used = 0;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      stream.resume();
      await woken;
      if (failure) break;
      if (used > 0) yield batch.subarray(0, used);
    }
    // The stream may also have failed while a batch was worked on.
    if (failure) throw failure.error;
  } finally {
    stream.off('data', onData).off('error', onError).off('end', onEnd).off('close', onEnd);
  }
}
