import { createReadStream } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { type ClusterObjects, parseClusterObjects } from '../../controllers/backup/cluster-objects.ts';
import { Secret } from '../../kube/core-types.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { readBounded } from '../../lib/bounded-read.ts';
import { ProviderError } from '../../lib/errors.ts';

/** What is known of a cluster from a backup. */
export interface ImportedCluster {
  readonly objects: ClusterObjects;
  readonly secrets: readonly Secret[];
}

/** Some 20 KB for each Machine. */
const maxBytes = 64 * 1024 * 1024;

/** Reads the files that `backups fetch` has written: `base` is what their names begin with. */
export async function readBackupFiles(base: string): Promise<ImportedCluster> {
  const objects = parseClusterObjects(await readText(`${base}.objects.yaml`));
  if ('problem' in objects) throw rejected(`${base}.objects.yaml is not valid: ${objects.problem}`);
  return { objects, secrets: parseSecrets(await readText(`${base}.secrets.yaml`), `${base}.secrets.yaml`) };
}

async function readText(path: string): Promise<string> {
  try {
    return (await readBounded(createReadStream(path), maxBytes, path)).toString('utf8');
  } catch (cause) {
    throw rejected(
      `${path} cannot be read: fetch the backup with --identity, and give what its files begin with.`,
      cause,
    );
  }
}

function parseSecrets(text: string, path: string): readonly Secret[] {
  const documents = parseAllDocuments(text);
  const values = 'empty' in documents ? [] : documents.map((one) => (one.errors.length > 0 ? undefined : one.toJS()));
  if (values.length === 0 || !values.every(isSecret)) throw rejected(`${path} does not have Secrets only.`);
  return values;
}

const isSecret = (value: unknown): value is Secret =>
  typeof value === 'object' &&
  value !== null &&
  (value as Partial<Secret>).apiVersion === apiVersionOf(Secret) &&
  (value as Partial<Secret>).kind === Secret.kind &&
  typeof (value as Partial<Secret>).metadata?.name === 'string';

const rejected = (detail: string, cause?: unknown): ProviderError =>
  new ProviderError('IMPORT_REJECTED', `--from: ${detail}`, { cause });
