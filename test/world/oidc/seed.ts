import { z } from 'zod';

/** A loopback address of the user's machine, where native apps wait for their code (RFC 8252, 7.3). */
export const isLoopback = (url: URL): boolean =>
  url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);

const RedirectUri = z
  .url()
  .refine((text) => isLoopback(new URL(text)), 'a program that people run waits at http:// on a loopback address');

/** A client program for logins. */
const OidcClient = z.strictObject({
  id: z.string().min(1),
  /** Absent: a public client, which has no secret and must use PKCE. */
  secret: z.string().optional(),
  /** The port is ignored. */
  redirectUris: z.array(RedirectUri).default(['http://localhost', 'http://127.0.0.1', 'http://[::1]']),
});
export type OidcClient = z.infer<typeof OidcClient>;

/** A user who can log in. */
export const OidcUser = z.strictObject({
  /** `sub`. */
  subject: z.string().min(1),
  /** In tokens with the requested scope `groups`. */
  groups: z.array(z.string()).default([]),
  email: z.email().optional(),
  /** Lifetime of this user's tokens; default: the common lifetime. */
  tokenSeconds: z.number().positive().optional(),
  /** Further claims of every token. */
  claims: z.record(z.string(), z.unknown()).default({}),
});
export type OidcUser = z.infer<typeof OidcUser>;

/** The initial state of the issuer. */
export const OidcSeed = z.strictObject({
  algorithm: z.enum(['ES256', 'RS256']).default('ES256'),
  clients: z.array(OidcClient).default([OidcClient.parse({ id: 'kubernetes' })]),
  /** The first one is the current user. */
  people: z.array(OidcUser).default([OidcUser.parse({ subject: 'alice', groups: ['developers'] })]),
  codeSeconds: z.number().positive().default(60),
  tokenSeconds: z.number().positive().default(600),
  refreshSeconds: z.number().positive().default(86_400),
});
export type OidcSeed = z.infer<typeof OidcSeed>;
