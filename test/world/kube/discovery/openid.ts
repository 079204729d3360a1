import type { IncomingMessage } from 'node:http';
import { notAcceptableError } from '../errors.ts';
import type { RequestContext } from '../request/context.ts';
import type { ApiResponse } from '../request/response.ts';

/** The issuer and its keys, with which other services verify ServiceAccount tokens. */

export const openIdConfiguration = ({ auth, url }: RequestContext): ApiResponse => ({
  code: 200,
  body: {
    issuer: auth.issuer,
    jwks_uri: `${url()}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [auth.key.algorithm],
  },
  headers: { 'Cache-Control': 'public, max-age=3600' },
});

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
