import { z } from 'zod';
import type { Facts } from '../../../engine/platform.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../../../lib/resilience/concurrency-limit.ts';
import type { SecretStrings } from '../../../lib/secret-string.ts';
import type { TrueNasClient } from '../api/client.ts';

/** The key of the Secret that displays have their password from: TrueNAS makes none without. */
const passwordKey = 'displayPassword';

/** Of a size. */
export const displayField = z
  .boolean()
  .describe(
    'Whether machines have a display (SPICE) in the web interface of the TrueNAS system, with the password in the key displayPassword of the Secret. Without one there is the serial console all the same. Default: false.',
  )
  .optional();

interface DisplayContext {
  readonly config: { readonly sizes: readonly { readonly name: string; readonly display?: boolean | undefined }[] };
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** What was written down before anything was made holds; before that, the size. */
export function hasDisplay({ config, facts, node }: DisplayContext): boolean {
  if (facts['mac'] !== undefined) return facts['display'] === true;
  return config.sizes.find(({ name }) => name === node.size)?.display === true;
}

export const toDisplayFact = (subject: DisplayContext): Facts => (hasDisplay(subject) ? { display: true } : {});

export const displayPasswordOf = (credentials: SecretStrings): string =>
  credentials[passwordKey]?.reveal().trim() ?? '';

/** What a display is, but for its password. Bound to the system itself, where its web interface finds it. */
export const displayAttributes = { dtype: 'DISPLAY', type: 'SPICE', web: true, bind: '127.0.0.1' } as const;

/** Throws CREDENTIALS_MISSING when there is none. */
export function getDisplayPassword(credentials: SecretStrings, secret: string): { readonly password: string } {
  const password = displayPasswordOf(credentials);
  if (password !== '') return { password };
  throw new ProviderError(
    'CREDENTIALS_MISSING',
    `Secret ${secret} needs the key ${passwordKey}: a size has a display.`,
  );
}

const displayLimits = new WeakMap<TrueNasClient, ConcurrencyLimit>();

/**
 * Makes a display when no other is being made on the system: TrueNAS would give the same ports to both, and one of the machines
 * would not start.
 */
export function serializeDisplayCreation<T>(
  nas: TrueNasClient,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const line = displayLimits.get(nas) ?? createConcurrencyLimit(1);
  displayLimits.set(nas, line);
  return line(work, signal);
}
