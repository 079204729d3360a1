import { z } from 'zod';
import type { Facts } from '../../../engine/step.ts';

/** Field of a size. */
export const encryptedField = z
  .boolean()
  .describe(
    'Whether the disks and the seed of a machine are encrypted by ZFS. The passphrase is only in the Secret <machine>-disk-key in the namespace of the provider, which unlocks the datasets after a restart of the system. Default: false.',
  )
  .optional();

interface EncryptionContext {
  readonly config: { readonly sizes: readonly { readonly name: string; readonly encrypted?: boolean | undefined }[] };
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** The recorded fact counts. Before anything is recorded, the size does. */
export function isEncrypted({ config, facts, node }: EncryptionContext): boolean {
  if (typeof facts['dataset'] === 'string') return facts['encrypted'] === true;
  return config.sizes.find(({ name }) => name === node.size)?.encrypted === true;
}

export const toEncryptionFact = (subject: EncryptionContext): Facts =>
  isEncrypted(subject) ? { encrypted: true } : {};
