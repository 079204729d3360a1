import type { IncomingMessage } from 'node:http';
import { notAcceptableError } from '../errors.ts';
import type { RequestContext } from '../request/context.ts';
import type { ApiResponse } from '../request/response.ts';

const keySetType = 'application/jwk-set+json';

/** Only served for exactly this type in the Accept header, as on the real server. */
export function jwksResponse({ auth }: RequestContext, message: IncomingMessage): ApiResponse {
  const accepted = (message.headers.accept ?? '*/*').split(',').map((clause) => clause.split(';')[0]?.trim());
  if (![keySetType, '*/*', 'application/*'].some((type) => accepted.includes(type)))
    throw notAcceptableError([keySetType]);
  return {
    code: 200,
    body: auth.key.jwks,
    contentType: keySetType,
    headers: { 'Cache-Control': 'public, max-age=3600' },
  };
}
