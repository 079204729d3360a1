import { z } from 'zod';
import type { Facts } from '../../../engine/step.ts';

/** Field of a size. */
export const encryptedField = z
  .boolean()
  .describe(
    "Whether all that a machine has on the TrueNAS system is encrypted by ZFS: its disks and its seed. The system does not keep the passphrase, which lies in a Secret <machine>-disk-key in the provider's namespace: after a restart of the system the provider unlocks. Default: false.",
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
