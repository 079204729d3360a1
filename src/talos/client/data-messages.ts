import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { DataSchema } from '../gen/common_pb.ts';
import { talosLimits } from './limits.ts';

/** Before each message: a byte of flags, and the length of the message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const prefixBytes = 5;
/** Of the field `bytes` of `common.Data`: field 2, of a length that follows. */
const bytesTag = 0x12;

/**
 * Splits a reply of gRPC into its messages `common.Data`, and returns the bytes in these. Nothing here waits: a snapshot has
 * a message for each KiB, and a promise for each would take longer than everything else that is done with it.
 */
export class DataMessages {
  /** Pieces of the reply that have no whole message yet, and how many bytes are needed for the next step. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #neededBytes = prefixBytes;

  /** The content of the messages that end in this piece of the reply: valid as long as the piece is. */
  add(piece: Uint8Array): readonly Uint8Array[] {
    const view = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes < this.#neededBytes) {
      this.#pending.push(Buffer.from(view));
      return [];
    }
    return this.#split(this.#pending.length === 0 ? view : Buffer.concat([...this.#pending, view]));
  }

  /** Throws if the reply ends within a message. */
  end(): void {
    if (this.#pendingBytes > 0) throw new ConnectError('protocol error: incomplete message', Code.InvalidArgument);
  }

  #split(reply: Buffer): readonly Uint8Array[] {
    const contents: Uint8Array[] = [];
    let at = 0;
    this.#neededBytes = prefixBytes;
    while (reply.length - at >= prefixBytes) {
      const start = at + prefixBytes;
      const end = start + readLength(reply, at);
      if (end > reply.length) {
        this.#neededBytes = end - at;
        break;
      }
      contents.push(contentOf(reply, start, end));
      at = end;
    }
    // A copy: a piece is valid until the next one is asked for.
    this.#pending = at < reply.length ? [Buffer.from(reply.subarray(at))] : [];
    this.#pendingBytes = reply.length - at;
    return contents;
  }
}

function readLength(reply: Buffer, at: number): number {
  // No compression was offered.
  if (reply[at] !== 0) throw new ConnectError('protocol error: unexpected flags of a message', Code.Internal);
  const length = reply.readUInt32BE(at + 1);
  if (length <= talosLimits.messageBytes) return length;
  throw new ConnectError(`message size ${length} is larger than ${talosLimits.messageBytes}`, Code.ResourceExhausted);
}

/** Talos sends nothing but the field `bytes`; any other message is read by the library. */
function contentOf(reply: Buffer, start: number, end: number): Uint8Array {
  if (reply[start] === bytesTag) {
    let length = 0;
    for (let at = start + 1, shift = 0; at < end && shift < 28; at += 1, shift += 7) {
      const byte = reply[at] ?? 0;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (at + 1 + length !== end) break;
        return reply.subarray(at + 1, end);
      }
    }
  }
  return fromBinary(DataSchema, reply.subarray(start, end)).bytes;
}
