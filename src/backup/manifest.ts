import { z } from 'zod';

const Part = z.object({
  /** Of the object, which is encrypted. */
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** What is in a backup, in clear: no secrets. Fields that a later release adds are ignored. */
const Manifest = z.object({
  format: z.literal(1),
  time: z.iso.datetime(),
  cluster: z.object({ namespace: z.string(), name: z.string(), uid: z.string() }),
  /** The control plane that gave the snapshot, and the versions that it ran. */
  machine: z.string(),
  kubernetesVersion: z.string().default(''),
  /** Of the snapshot in clear. */
  snapshotBytes: z.int().min(0),
  seconds: z.number().min(0),
  /** A revision of etcd that the snapshot contains, if the API server has told one before. */
  revision: z.int().min(0).optional(),
  etcd: Part,
  secrets: Part,
  objects: Part,
});
export type BackupManifest = z.infer<typeof Manifest>;

/** A manifest is a few hundred bytes long. */
export const maxManifestBytes = 64 * 1024;

export const renderManifest = (manifest: BackupManifest): Buffer =>
  Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`, 'utf8');

/** Undefined for text that is no manifest of this form. */
export function parseManifest(text: string): BackupManifest | undefined {
  try {
    return Manifest.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
