import type { SecretString } from '../lib/secret-string.ts';

/** What a key opens, as it is noted beside it: without its Machine nobody could tell. */
export interface EncryptedStorage {
  readonly system: string;
  /** What holds all of a machine there, as the platform finds it again. Without commas. Empty: nobody can ever tell that it is gone. */
  readonly roots: readonly string[];
}

/**
 * What the disks of a machine are encrypted with. The platform cluster keeps it; a platform is handed it for a call, and keeps it
 * nowhere: not in facts, not beside what it protects.
 */
export interface MachineDiskKey {
  /** Where it is kept, for people, e.g. `Secret shop-cp-0-disk-key in namespace openmcp-system`. */
  readonly place: string;
  /** As far as is known without asking. */
  isKept(): boolean;
  /** The one that is kept, or one drawn now, which is kept for good when this returns. Only for what is not encrypted yet. */
  ensure(opens: EncryptedStorage): Promise<SecretString>;
  /** The one that is kept. Throws DISK_KEY_MISSING where there is none: another one would open nothing. */
  read(): Promise<SecretString>;
  /** Once nothing is left that it opens. Success when there is none. */
  forget(): Promise<void>;
}
