import { z } from 'zod';
import type { Facts } from '../../../engine/step.ts';
import type { SecretStrings } from '../../../lib/secret-string.ts';
import { TrueNasError } from '../error-codes.ts';

/** The Secret key with the password of displays: TrueNAS creates none without a password. */
const passwordKey = 'displayPassword';

/** Field of a size. */
export const displayField = z
  .boolean()
  .describe(
    'Whether machines have a SPICE display in the web interface of the TrueNAS system, with the password in the key displayPassword of the Secret. The serial console is always available. Default: false.',
  )
  .optional();

interface DisplayContext {
  readonly config: { readonly sizes: readonly { readonly name: string; readonly display?: boolean | undefined }[] };
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** The recorded fact counts. Before anything is recorded, the size does. */
export function hasDisplay({ config, facts, node }: DisplayContext): boolean {
  if (facts['mac'] !== undefined) return facts['display'] === true;
  return config.sizes.find(({ name }) => name === node.size)?.display === true;
}

export const toDisplayFact = (subject: DisplayContext): Facts => (hasDisplay(subject) ? { display: true } : {});

export const displayPasswordOf = (credentials: SecretStrings): string =>
  credentials[passwordKey]?.reveal().trim() ?? '';

/** Attributes of a display except its password. It listens on the system itself, where the web interface connects. */
export const displayAttributes = { dtype: 'DISPLAY', type: 'SPICE', web: true, bind: '127.0.0.1' } as const;

/** Throws CREDENTIALS_MISSING when there is no password. */
export function getDisplayPassword(credentials: SecretStrings, secret: string): { readonly password: string } {
  const password = displayPasswordOf(credentials);
  if (password !== '') return { password };
  throw new TrueNasError('CREDENTIALS_MISSING', `Secret ${secret} needs the key ${passwordKey}: a size has a display.`);
}
