import { z } from 'zod';
import type { Facts } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Secrets } from '../../lib/secret.ts';
import type { TrueNas } from './client.ts';
import { createLimit, type Limit } from './limit.ts';

/** The key of the Secret that displays have their password from: TrueNAS makes none without. */
const passwordKey = 'displayPassword';

/** Of a size. */
export const displayField = z
  .boolean()
  .describe(
    'Whether machines have a display (SPICE) in the web interface of the TrueNAS system, with the password in the key displayPassword of the Secret. Without one there is the serial console all the same. Default: false.',
  )
  .optional();

interface Subject {
  readonly config: { readonly sizes: readonly { readonly name: string; readonly display?: boolean | undefined }[] };
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** What was written down before anything was made holds; before that, the size. */
export function hasDisplay({ config, facts, node }: Subject): boolean {
  if (facts['mac'] !== undefined) return facts['display'] === true;
  return config.sizes.find(({ name }) => name === node.size)?.display === true;
}

export const noteDisplay = (subject: Subject): Facts => (hasDisplay(subject) ? { display: true } : {});

export const passwordOf = (credentials: Secrets): string => credentials[passwordKey]?.reveal().trim() ?? '';

/** What a display is, but for its password. Bound to the system itself, where its web interface finds it. */
export const displayAttributes = { dtype: 'DISPLAY', type: 'SPICE', web: true, bind: '127.0.0.1' } as const;

/** Throws CREDENTIALS_MISSING when there is none. */
export function demandPassword(credentials: Secrets, secret: string): { readonly password: string } {
  const password = passwordOf(credentials);
  if (password !== '') return { password };
  throw new ProviderError(
    'CREDENTIALS_MISSING',
    `Secret ${secret} needs the key ${passwordKey}: a size has a display.`,
  );
}

const lines = new WeakMap<TrueNas, Limit>();

/**
 * Makes a display when no other is being made on the system: TrueNAS would give the same ports to both, and one of the machines
 * would not start.
 */
export function inLine<T>(nas: TrueNas, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const line = lines.get(nas) ?? createLimit(1);
  lines.set(nas, line);
  return line(work, signal);
}
