import { readBounded } from '../lib/bounded-read.ts';
import type { BackupStorage } from './backup-storage.ts';
import { type BackupManifest, maxManifestBytes, parseManifest } from './manifest.ts';

/** Undefined if there is none, or none of our form. */
export async function readManifest(storage: BackupStorage, key: string): Promise<BackupManifest | undefined> {
  const found = await storage.read(key);
  if (!found) return undefined;
  return parseManifest((await readBounded(found.content, maxManifestBytes, key)).toString('utf8'));
}
