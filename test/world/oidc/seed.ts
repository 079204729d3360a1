import { z } from 'zod';

/** An address on the machine of whoever logs in: where programs that people run wait for their code (RFC 8252, 7.3). */
export const isLoopback = (url: URL): boolean =>
  url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);

const RedirectUri = z
  .url()
  .refine((text) => isLoopback(new URL(text)), 'a program that people run waits at http:// on a loopback address');

/** A program that may ask people to log in. */
const OidcClient = z.strictObject({
  id: z.string().min(1),
  /** Left out: a public client, which has none and has to use PKCE. */
  secret: z.string().optional(),
  /** The port does not matter. */
  redirectUris: z.array(RedirectUri).default(['http://localhost', 'http://127.0.0.1', 'http://[::1]']),
});
export type OidcClient = z.infer<typeof OidcClient>;

/** Somebody who can log in. */
export const OidcUser = z.strictObject({
  /** `sub`; also the name to log in with where there is a password. */
  subject: z.string().min(1),
  password: z.string().optional(),
  /** In tokens for which the scope `groups` was asked. */
  groups: z.array(z.string()).default([]),
  email: z.email().optional(),
  /** How long tokens for this one are good; left out, as long as all are. */
  tokenSeconds: z.number().positive().optional(),
  /** Further claims of every token. */
  claims: z.record(z.string(), z.unknown()).default({}),
});
export type OidcUser = z.infer<typeof OidcUser>;

/** What the issuer begins with. */
export const OidcSeed = z.strictObject({
  algorithm: z.enum(['ES256', 'RS256']).default('ES256'),
  clients: z.array(OidcClient).default([OidcClient.parse({ id: 'kubernetes' })]),
  /** The first one sits before the browser. */
  people: z.array(OidcUser).default([OidcUser.parse({ subject: 'alice', groups: ['developers'] })]),
  /** Whether names and passwords are taken for tokens (RFC 6749, 4.3), which most issuers have given up. */
  passwords: z.boolean().default(false),
  codeSeconds: z.number().positive().default(60),
  tokenSeconds: z.number().positive().default(600),
  refreshSeconds: z.number().positive().default(86_400),
  deviceSeconds: z.number().positive().default(300),
  /** How often a device may ask whether somebody has logged in. */
  pollSeconds: z.number().positive().default(1),
});
export type OidcSeed = z.infer<typeof OidcSeed>;
