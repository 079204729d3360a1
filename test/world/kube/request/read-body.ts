import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors.ts';
import { decodeProtobuf, protobufContentType } from '../protobuf/decode-object.ts';

/** The API server's limit of a request body. */
const bodyLimit = 3 * 1024 * 1024;

/** A request's body; undefined beyond the limit. */
export async function readBody(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message) {
    size += (chunk as Buffer).length;
    if (size <= bodyLimit) chunks.push(chunk as Buffer);
  }
  return size <= bodyLimit ? Buffer.concat(chunks) : undefined;
}

/** The body as text, with protobuf converted to JSON. Throws 413 for a body above the limit. */
export function bodyText(body: Buffer | undefined, contentType: string): { text: string; contentType: string } {
  if (!body) {
    throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyLimit}`, {});
  }
  if (body.length === 0 || contentType.split(';')[0]?.trim() !== protobufContentType) {
    return { text: body.toString('utf8'), contentType };
  }
  return { text: JSON.stringify(decodeProtobuf(body)), contentType: 'application/json' };
}
