import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { annotations } from '../../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { type S3Server, startVersitygw } from '../../../peers/versitygw.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** Name of the Secret with the identity, in the provider's own namespace. */
export const identitySecretName = 'restore-identity';

/** A bucket of a real S3 server for the backups of one testbed, with an identity of age. */
export class BackupBucket {
  readonly server: S3Server;
  readonly identity: string;
  readonly #folder: string;
  readonly #recipient: string;

  private constructor(server: S3Server, identity: string, folder: string, recipient: string) {
    this.server = server;
    this.identity = identity;
    this.#folder = folder;
    this.#recipient = recipient;
  }

  static async open(): Promise<BackupBucket> {
    const folder = await mkdtemp(join(tmpdir(), 'backups-'));
    const identity = await generateIdentity();
    return new BackupBucket(
      await startVersitygw('127.0.0.1', folder),
      identity,
      folder,
      await identityToRecipient(identity),
    );
  }

  /** The `spec.backup` of a ProviderConfig, whose schedule does not occur in a test. */
  get spec() {
    const { endpoint, bucket, ca } = this.server;
    return {
      ...{ schedule: '0 0 1 1 *', recipients: [this.#recipient] },
      s3: { ...{ endpoint, bucket, prefix: 'talos', caBundle: ca }, credentialsRef: { name: 's3' } },
    };
  }

  /** Creates the Secrets with the key to the bucket and with the identity. */
  async giveSecrets({ objects }: Testbed): Promise<void> {
    const { accessKeyId, secretAccessKey } = this.server;
    await objects.credentials('s3', { accessKeyId, secretAccessKey });
    await objects.credentials(identitySecretName, { identity: `# a comment\n${this.identity}\n` });
  }

  /** Takes a backup, and returns the key of its snapshot. */
  async take({ objects }: Testbed, ref: NamespacedRef): Promise<string> {
    const before = await this.keys();
    await objects.annotate(Cluster, ref, { [annotations.takeBackup]: 'now' });
    await eventually('a backup is taken', async () => (await this.keys()).length > before.length, 60);
    return (await this.keys()).find((key) => !before.includes(key)) ?? '';
  }

  /** The keys of the snapshots of complete backups. */
  async keys(): Promise<string[]> {
    const all = await readdir(this.server.folder, { recursive: true, withFileTypes: true });
    return all
      .filter(({ name, parentPath }) => name.endsWith('.json') && !parentPath.includes('.sgwtmp'))
      .map(({ name, parentPath }) => relative(this.server.folder, join(parentPath, name)))
      .map((path) => path.replace(/\.json$/, '.etcd.age'));
  }

  async close(): Promise<void> {
    await this.server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
