import { create, toBinary } from '@bufbuild/protobuf';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DataSchema } from '../gen/common_pb.ts';
import { DataMessages } from './data-messages.ts';
import { talosLimits } from './limits.ts';

const message = (bytes: Uint8Array, metadata = false): Uint8Array =>
  encodeEnvelope(
    0,
    toBinary(
      DataSchema,
      create(DataSchema, { bytes: new Uint8Array(bytes), ...(metadata && { metadata: { hostname: 'n' } }) }),
    ),
  );

function read(pieces: readonly Uint8Array[]): Buffer {
  const messages = new DataMessages();
  const contents = pieces.flatMap((piece) => [...messages.add(piece)]);
  messages.end();
  return Buffer.concat(contents);
}

it('the bytes of messages are those of the library, however the reply is cut', () => {
  const contents = fc.array(fc.tuple(fc.uint8Array({ maxLength: 400 }), fc.boolean()), { maxLength: 8 });
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(contents, cuts, (all, places) => {
      const reply = Buffer.concat(all.map(([bytes, metadata]) => message(bytes, metadata)));
      const ends = [...places.map((place) => place % (reply.length + 1)), reply.length].sort((a, b) => a - b);
      const pieces = ends.map((end, index) => reply.subarray(ends[index - 1] ?? 0, end));
      expect(read(pieces).equals(Buffer.concat(all.map(([bytes]) => bytes)))).toBe(true);
    }),
  );
});

it('a long message arrives in many pieces', () => {
  const bytes = Buffer.alloc(talosLimits.messageBytes / 2, 7);
  const reply = message(bytes);
  const pieces = Array.from({ length: Math.ceil(reply.length / 16_384) }, (_, i) =>
    reply.subarray(i * 16_384, (i + 1) * 16_384),
  );
  expect(read(pieces).equals(bytes)).toBe(true);
});

it.each<[string, Uint8Array, RegExp]>([
  ['ends within a prefix', message(Buffer.from('abc')).subarray(0, 4), /incomplete message/],
  ['ends within a message', message(Buffer.from('abc')).subarray(0, 7), /incomplete message/],
  ['is compressed', encodeEnvelope(1, Buffer.from('x')), /unexpected flags/],
  ['announces a message beyond the limit', Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]), /message size .* is larger than/],
  ['has no message of this kind', encodeEnvelope(0, Buffer.from([0x12, 0xff])), /./],
])('a reply that %s is refused', (_, reply, problem) => {
  expect(() => read([reply])).toThrow(problem);
});
