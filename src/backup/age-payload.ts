import { createCipheriv, hkdfSync } from 'node:crypto';

/** The payload is encrypted in chunks of this size (age-encryption.org/v1, "Payload"). */
const chunkBytes = 64 * 1024;
const tagBytes = 16;
const cipher = 'chacha20-poly1305';

/** Length of the nonce between header and payload. */
export const nonceBytes = 16;

/**
 * Encrypts the payload of an age file with the cipher of OpenSSL. That of the library is written in JavaScript and some
 * twenty times slower: it would occupy this process, which does other work meanwhile.
 */
export function encryptPayload(fileKey: Uint8Array, nonce: Uint8Array): TransformStream<Uint8Array, Uint8Array> {
  const key = Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32));
  const pending = Buffer.alloc(chunkBytes);
  let used = 0;
  let count = 0;
  const seal = (chunk: Uint8Array, isLast: boolean, controller: TransformStreamDefaultController<Uint8Array>): void => {
    const { sealed, tag } = sealChunk(key, { count, isLast }, chunk);
    count += 1;
    if (sealed.length > 0) controller.enqueue(sealed);
    controller.enqueue(tag);
  };
  return new TransformStream({
    transform(piece, controller) {
      for (let offset = 0; offset < piece.length; ) {
        // A full chunk may be the last one, which only the next byte tells.
        if (used === chunkBytes) {
          seal(pending, false, controller);
          used = 0;
        }
        const taken = Math.min(chunkBytes - used, piece.length - offset);
        pending.set(piece.subarray(offset, offset + taken), used);
        used += taken;
        offset += taken;
      }
    },
    flush(controller) {
      seal(pending.subarray(0, used), true, controller);
    },
  });
}

/** The nonce of a chunk: eleven bytes of its number, big-endian, and one that marks the last chunk. */
function sealChunk(
  key: Buffer,
  at: { readonly count: number; readonly isLast: boolean },
  chunk: Uint8Array,
): { readonly sealed: Buffer; readonly tag: Buffer } {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(at.count), 3);
  nonce[11] = at.isLast ? 1 : 0;
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  const sealed = sealing.update(chunk);
  // Of a stream cipher nothing is left.
  sealing.final();
  return { sealed, tag: sealing.getAuthTag() };
}
