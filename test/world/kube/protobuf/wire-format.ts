import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { badRequestError } from '../errors.ts';

/** One field in wire format: a number for varints, bytes for length-delimited fields. */
export interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/** Splits a message into its fields of these two kinds. Throws 400 when it is damaged. */
export function readFields(bytes: Buffer): WireField[] {
  const fields: WireField[] = [];
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      if (type === WireType.Varint) fields.push({ number, value: BigInt(reader.int64()) });
      else if (type === WireType.LengthDelimited) fields.push({ number, value: Buffer.from(reader.bytes()) });
      else reader.skip(type, number);
    }
  } catch (error) {
    throw badRequestError(`proto: ${error instanceof Error ? error.message : String(error)}`);
  }
  return fields;
}
