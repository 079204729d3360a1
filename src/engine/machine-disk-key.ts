import type { SecretString } from '../lib/secret-string.ts';

/** The storage that a disk key opens, recorded next to the key: without its Machine it would be unknown. */
export interface EncryptedStorage {
  readonly system: string;
  /**
   * The resources that contain all storage of a machine, as the platform identifies them. Without commas. Empty: it can
   * never be proven that the storage is gone.
   */
  readonly roots: readonly string[];
}

/**
 * The disk encryption key of a machine. The platform cluster stores it. A platform gets it for a call and stores it
 * nowhere: not in facts, not next to the encrypted storage.
 */
export interface MachineDiskKey {
  /** Where it is stored, for users, e.g. `Secret shop-cp-0-disk-key in namespace openmcp-system`. */
  readonly location: string;
  /** Whether it is stored, as far as the cache knows. */
  isKept(): boolean;
  /**
   * The stored key, or a new one, which is stored durably when this returns. Only for storage that is not encrypted
   * yet.
   */
  ensure(opens: EncryptedStorage): Promise<SecretString>;
  /** The stored key. Throws DISK_KEY_MISSING when there is none: a new key would open nothing. */
  read(): Promise<SecretString>;
  /** Deletes the key once no storage is left that it opens. Success when there is none. */
  delete(): Promise<void>;
}
