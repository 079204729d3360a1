import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { DataSchema } from '../gen/common_pb.ts';
import { talosLimits } from './limits.ts';

/** Before each message: a byte of flags, and the length of the message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const prefixBytes = 5;
/** Of the field `bytes` of `common.Data`: field 2, of a length that follows. */
const bytesTag = 0x12;
/** Of a length, seven bits in each: enough for the largest message. */
const maxLengthBytes = 4;
const maxHeaderBytes = prefixBytes + 1 + maxLengthBytes;

const nothing = Buffer.alloc(0);

/**
 * Reads a reply of gRPC that consists of messages `common.Data`, and returns the bytes in these. Nothing here waits, and
 * no object is made for a message: a snapshot has one for each KiB, and a promise for each takes longer than everything
 * else that is done with it; views of them are garbage as large as the snapshot.
 */
export class DataMessages {
  /** What has arrived of a header, if not the whole of it. */
  #header: Buffer = nothing;
  /** How much of the content of the current message is missing. */
  #missing = 0;
  #other: OtherMessage | undefined;

  /** The content in this piece of the reply, which is moved together within the piece: valid as long as the piece is. */
  add(piece: Uint8Array): readonly Uint8Array[] {
    const view = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const contents: Uint8Array[] = [];
    let [taken, end] = [0, 0];
    for (let at = 0; at < view.length; ) {
      if (this.#other) {
        at += this.#other.add(view.subarray(at));
      } else if (this.#missing > 0) {
        const length = Math.min(this.#missing, view.length - at);
        view.copyWithin(end, at, at + length);
        this.#missing -= length;
        end += length;
        at += length;
      } else {
        at += this.#readHeader(view, at);
      }
      if (!this.#other?.isWhole) continue;
      contents.push(view.subarray(taken, end), this.#other.content());
      this.#other = undefined;
      taken = end;
    }
    contents.push(view.subarray(taken, end));
    return contents.filter(({ length }) => length > 0);
  }

  /** Throws if the reply ends within a message. */
  end(): void {
    if (this.#header.length > 0 || this.#missing > 0 || this.#other)
      throw new ConnectError('protocol error: incomplete message', Code.InvalidArgument);
  }

  /** Returns how many bytes of the reply belong to the header. */
  #readHeader(reply: Buffer, at: number): number {
    const known = this.#header.length;
    const bytes = known === 0 ? reply : Buffer.concat([this.#header, reply.subarray(at, at + maxHeaderBytes)]);
    const start = known === 0 ? at : 0;
    const used = this.#begin(bytes, start);
    if (used === 0) {
      // A copy: a piece is valid until the next one is asked for.
      this.#header = Buffer.from(bytes.subarray(start));
      return this.#header.length - known;
    }
    if (known > 0) this.#header = nothing;
    return used - known;
  }

  /** Begins a message, and returns how many of its bytes were needed for this; 0 if these are not enough. */
  #begin(bytes: Buffer, start: number): number {
    const message = start + prefixBytes;
    if (message > bytes.length) return 0;
    const length = readLength(bytes, start);
    if (length === 0) return prefixBytes;
    if (message === bytes.length) return 0;
    const end = message + length;
    let at = message + 1;
    let [content, isData] = [0, false];
    if (bytes[message] === bytesTag)
      for (let shift = 0; !isData && at < end && shift < 7 * maxLengthBytes; shift += 7) {
        if (at === bytes.length) return 0;
        const byte = bytes[at] ?? 0;
        content |= (byte & 0x7f) << shift;
        isData = byte < 0x80;
        at += 1;
      }
    if (isData && at + content === end) this.#missing = content;
    else this.#other = new OtherMessage(length, bytes.subarray(message, at));
    return at - start;
  }
}

/** A message with more than the field `bytes`. Talos sends none; it is read by the library. */
class OtherMessage {
  readonly #message: Buffer;
  #used = 0;

  constructor(length: number, start: Uint8Array) {
    this.#message = Buffer.alloc(length);
    this.add(start);
  }

  get isWhole(): boolean {
    return this.#used === this.#message.length;
  }

  /** Returns how many of the bytes belong to this message. */
  add(bytes: Uint8Array): number {
    const own = bytes.subarray(0, this.#message.length - this.#used);
    this.#message.set(own, this.#used);
    this.#used += own.length;
    return own.length;
  }

  content(): Uint8Array {
    return fromBinary(DataSchema, this.#message).bytes;
  }
}

function readLength(bytes: Buffer, at: number): number {
  // No compression was offered.
  if (bytes[at] !== 0) throw new ConnectError('protocol error: unexpected flags of a message', Code.Internal);
  const length = bytes.readUInt32BE(at + 1);
  if (length <= talosLimits.messageBytes) return length;
  throw new ConnectError(`message size ${length} is larger than ${talosLimits.messageBytes}`, Code.ResourceExhausted);
}
