import { badRequestError } from '../errors.ts';

/** One field in wire format: a number for varints, bytes for length-delimited fields. */
export interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/** Splits a message into its fields. Throws 400 when it is truncated. */
export function readFields(bytes: Buffer): WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw truncatedError();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw badRequestError('proto: integer overflow');
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw truncatedError();
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    fields.push({ number: tag >>> 3, value: readValue(tag & 7, varint, take) });
  }
  return fields;
}

function readValue(wireType: number, varint: () => bigint, take: (length: number) => Buffer): bigint | Buffer {
  switch (wireType) {
    case 0:
      return varint();
    case 1:
      return take(8);
    case 2:
      return take(Number(varint()));
    case 5:
      return take(4);
    default:
      throw badRequestError(`proto: illegal wireType ${wireType}`);
  }
}

const truncatedError = () => badRequestError('unexpected EOF');
