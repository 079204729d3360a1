import { createHash } from 'node:crypto';

const types: Readonly<Record<string, { readonly type: string; readonly size?: number }>> = {
  'ssh-ed25519': { type: 'ED25519', size: 256 },
  'ssh-rsa': { type: 'RSA' },
  'ecdsa-sha2-nistp256': { type: 'ECDSA', size: 256 },
  'ecdsa-sha2-nistp384': { type: 'ECDSA', size: 384 },
  'ecdsa-sha2-nistp521': { type: 'ECDSA', size: 521 },
};

/** Parses a public key in OpenSSH or SSH2 format (RFC 4716); undefined when it is neither, or damaged. */
export function parsePublicKey(
  text: string,
): { fingerprint: string; type: string; size: number; data: string } | undefined {
  const blob = readOpenSsh(text) ?? readSsh2(text);
  if (!blob || blob.length < 8) return undefined;
  const fields = readFields(blob);
  const algorithm = fields?.[0]?.toString('latin1') ?? '';
  const known = types[algorithm];
  if (!fields || !known || fields.length < 2) return undefined;
  const size = known.size ?? bitsOf(fields[2] ?? Buffer.alloc(0));
  const fingerprint = createHash('md5')
    .update(blob)
    .digest('hex')
    .replace(/(..)(?!$)/g, '$1:');
  return { fingerprint, type: known.type, size, data: `${algorithm} ${blob.toString('base64')}` };
}

function readOpenSsh(text: string): Buffer | undefined {
  const match = /^(?<algorithm>[a-z0-9@.-]+) +(?<base64>[A-Za-z0-9+/]+=*)(?:\s.*)?$/.exec(text.trim());
  const blob = match?.groups ? Buffer.from(match.groups['base64'] ?? '', 'base64') : undefined;
  const isNamed = blob && readFields(blob)?.[0]?.toString('latin1') === match?.groups?.['algorithm'];
  return isNamed ? blob : undefined;
}

function readSsh2(text: string): Buffer | undefined {
  const body = /^---- BEGIN SSH2 PUBLIC KEY ----\r?\n(?<body>[\s\S]*?)---- END SSH2 PUBLIC KEY ----/.exec(text.trim());
  if (!body?.groups) return undefined;
  // Headers have a colon, and continue on the next line after a backslash.
  const withoutHeaders = (body.groups['body'] ?? '').replace(/^[\w-]+:(?:.*\\\r?\n)*.*$/gm, '');
  return Buffer.from(withoutHeaders, 'base64');
}

/** The length-prefixed fields of a blob, or undefined when they do not fill it. */
function readFields(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    if (at + 4 > blob.length) return undefined;
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/** Of a big-endian number, with or without a leading zero byte. */
function bitsOf(number: Buffer): number {
  const first = number.findIndex((byte) => byte !== 0);
  return first < 0 ? 0 : (number.length - first - 1) * 8 + (32 - Math.clz32(number[first] ?? 0));
}
