import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { notAcceptable } from '../errors.ts';
import type { Answer } from '../respond.ts';

/** What others need to check ServiceAccount tokens themselves: the issuer and its keys. */

export const issuerDocument = ({ auth, url }: Context): Answer => ({
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

/** Given only to whom accepts that very type, as the real server does. */
export function keySet({ auth }: Context, message: IncomingMessage): Answer {
  const accepted = (message.headers.accept ?? '*/*').split(',').map((clause) => clause.split(';')[0]?.trim());
  if (![keySetType, '*/*', 'application/*'].some((type) => accepted.includes(type))) throw notAcceptable([keySetType]);
  return {
    code: 200,
    body: auth.key.jwks,
    contentType: keySetType,
    headers: { 'Cache-Control': 'public, max-age=3600' },
  };
}
