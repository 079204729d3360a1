/**
 * The same bytes in pieces of `size`, the last one shorter. What handles a piece costs as much for a small one, and others
 * choose how small theirs are. Pieces come in batches, because to wait for each of them costs more than to copy it. A
 * piece is valid until the next one is asked for.
 */
export async function* gatherPieces(
  batches: AsyncIterable<Iterable<Uint8Array>>,
  size: number,
): AsyncGenerator<Uint8Array> {
  const gathered = Buffer.allocUnsafeSlow(size);
  let used = 0;
  for await (const batch of batches) {
    for (const piece of batch) {
      for (let offset = 0; offset < piece.length; ) {
        const taken = Math.min(size - used, piece.length - offset);
        gathered.set(taken === piece.length ? piece : piece.subarray(offset, offset + taken), used);
        used += taken;
        offset += taken;
        if (used < size) continue;
        yield gathered;
        used = 0;
      }
    }
  }
  if (used > 0) yield gathered.subarray(0, used);
}
