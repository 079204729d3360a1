import { parseIp } from '../../../../src/lib/net/ip.ts';

/** One length-delimited field of a protobuf message; empty values are omitted, as in proto3. */
export function bytesField(number: number, value: string | Uint8Array): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

/** One number or enum field. */
export const numberField = (number: number, value: number): Buffer =>
  value === 0 ? Buffer.alloc(0) : Buffer.concat([varint(number << 3), varint(value)]);

export const booleanField = (number: number, value: boolean): Buffer => numberField(number, value ? 1 : 0);

export const encodeMessage = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields);

/** `common.NetIP`: an address in 4 or 16 bytes. */
export function encodeNetIp(ip: string): Buffer {
  const address = parseIp(ip);
  if (!address) return Buffer.alloc(0);
  const digits = address.first.toString(16).padStart(address.family === 4 ? 8 : 32, '0');
  return bytesField(1, Buffer.from(digits, 'hex'));
}

/** Sizes of disks exceed the range of bit operators. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 0x80) | (rest > 0x7f ? 0x80 : 0));
    rest = Math.floor(rest / 0x80);
  } while (rest > 0);
  return Buffer.from(bytes);
}
