/** The ASN.1 tags with rules for their content. */
const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  utf8: 0x0c,
  printable: 0x13,
  ascii: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmp: 0x1e,
} as const;

const maxDepth = 16;
const constructedBit = 0x20;

/** Whether bytes are exactly one DER value, without any length or character that only BER permits. */
export function isStrictDer(bytes: Uint8Array): boolean {
  return bytes.length > 0 && readValue(bytes, 0, bytes.length, 0) === bytes.length;
}

/** The end of the value that begins at `start`; undefined when it is not strict. */
function readValue(bytes: Uint8Array, start: number, limit: number, depth: number): number | undefined {
  const tag = bytes[start];
  const header = readLength(bytes, start + 1, limit);
  if (tag === undefined || !header || (tag & 0x1f) === 0x1f || depth > maxDepth) return undefined;
  const end = header.start + header.length;
  if (end > limit) return undefined;
  if ((tag & constructedBit) === 0) return isStrictPrimitive(tag, bytes.subarray(header.start, end)) ? end : undefined;
  for (let at = header.start; at < end; ) {
    const next = readValue(bytes, at, end, depth + 1);
    if (next === undefined) return undefined;
    at = next;
  }
  return end;
}

/** DER requires the shortest form of a length. */
function readLength(bytes: Uint8Array, at: number, limit: number): { start: number; length: number } | undefined {
  const first = bytes[at];
  if (first === undefined || at >= limit) return undefined;
  if (first < 0x80) return { start: at + 1, length: first };
  const count = first & 0x7f;
  if (count === 0 || count > 3 || at + count >= limit) return undefined;
  const length = bytes.subarray(at + 1, at + 1 + count).reduce((sum, byte) => sum * 256 + byte, 0);
  const isShortest = length >= (count === 1 ? 0x80 : 256 ** (count - 1));
  return isShortest ? { start: at + 1 + count, length } : undefined;
}

function isStrictPrimitive(tag: number, content: Uint8Array): boolean {
  const [first, second = 0] = content;
  const text = (): string => Buffer.from(content).toString('latin1');
  switch (tag) {
    case tags.boolean:
      return content.length === 1 && (first === 0 || first === 0xff);
    case tags.integer:
      return first !== undefined && first < 0x80 && (content.length === 1 || first !== 0 || second >= 0x80);
    case tags.bitString:
      return first !== undefined && first <= 7 && (content.length > 1 || first === 0) && hasZeroPadding(content, first);
    case tags.utf8:
      return Buffer.from(Buffer.from(content).toString('utf8')).equals(content);
    case tags.printable:
      return /^[A-Za-z0-9 '()+,./:=?*&-]*$/.test(text());
    case tags.ascii:
      return content.every((byte) => byte < 0x80);
    case tags.utcTime:
      return /^\d{12}Z$/.test(text());
    case tags.generalizedTime:
      return /^\d{14}Z$/.test(text());
    case tags.bmp:
      return content.length % 2 === 0;
    default:
      return true;
  }
}

/** The unused bits are zero. */
const hasZeroPadding = (content: Uint8Array, unused: number): boolean =>
  unused === 0 || ((content.at(-1) ?? 0) & ((1 << unused) - 1)) === 0;
