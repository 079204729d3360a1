import { createHash } from 'node:crypto';

/** A snapshot ends with the SHA-256 of the database before it (etcd: server/etcdserver/api/v3rpc/maintenance.go). */
const checksumBytes = 32;
/** The database consists of whole sectors. */
const sectorBytes = 512;

/**
 * Verifies a snapshot of etcd piece by piece. Needed because a node reports a snapshot that it could not read to its end
 * as complete (talos: pkg/chunker/stream).
 */
export class SnapshotVerifier {
  readonly #hash = createHash('sha256');
  /** The last bytes so far, which may be the checksum. */
  #end: Buffer = Buffer.alloc(0);
  #bytes = 0;

  /** Size of all pieces. */
  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (piece.length >= checksumBytes) {
      this.#hash.update(this.#end).update(piece.subarray(0, -checksumBytes));
      // A copy: a view would keep the piece in memory.
      this.#end = Buffer.from(piece.subarray(-checksumBytes));
      return;
    }
    const known = Buffer.concat([this.#end, piece]);
    const ofDatabase = Math.max(0, known.length - checksumBytes);
    this.#hash.update(known.subarray(0, ofDatabase));
    this.#end = known.subarray(ofDatabase);
  }

  /** Why the pieces are no whole snapshot, as the end of a sentence; undefined if they are. Call it once, at the end. */
  finish(): string | undefined {
    const ofDatabase = this.#bytes - checksumBytes;
    if (ofDatabase <= 0 || ofDatabase % sectorBytes !== 0) return `it was cut off after ${this.#bytes} bytes`;
    return this.#hash.digest().equals(this.#end) ? undefined : 'its checksum is not that of its content';
  }
}
