import { join } from 'node:path';
import { formatBackupTime } from '../backup/backup-keys.ts';
import { isRecipient } from '../backup/encrypt.ts';
import { collectClusterObjects } from '../controllers/backup/collect-objects.ts';
import { listControlPlanes, renderSecretManifests } from '../controllers/backup/secret-manifests.ts';
import { readInstallation } from '../controllers/shared/installation.ts';
import { ProviderError } from '../lib/errors.ts';
import { SnapshotError } from '../talos/etcd-snapshot/snapshot-error.ts';
import { type SnapshotReport, streamSnapshot } from '../talos/etcd-snapshot/stream-snapshot.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import { type ClusterAccess, findClusterAccess, whatIsAllowed } from './access/find-cluster-access.ts';
import { describeCaller, findCaller, recordOnCluster } from './access/record-issue.ts';
import { requireFolder } from './backup/output-folder.ts';
import { writeEncryptedFile } from './backup/whole-file.ts';
import type { BackupSettings } from './flags/access-settings.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { formatStructured } from './output/structured-output.ts';

/** A large database over a slow line. */
const timeoutSeconds = 2400;

/**
 * Writes an encrypted snapshot of etcd, and the encrypted Secrets and other objects of a cluster, to a folder. Nothing is written in clear, and
 * a snapshot that is not whole is not kept.
 */
export async function runBackup(options: BackupSettings & AccessCommandContext): Promise<void> {
  const { cluster: ref, recipients, outputFolder: folder, output, print } = options;
  requireRecipients(recipients);
  await requireFolder(folder);
  await withAccessSession({ ...options, timeoutSeconds }, async (session) => {
    const access = await findClusterAccess(session, ref);
    const time = formatBackupTime(session.clock.now());
    const base = join(folder, `${ref.namespace}-${ref.name}-${time}`);
    const { signal } = session;
    const file = (kind: string) => ({ path: `${base}.${kind}.age`, flag: '--output-folder', recipients, signal });
    const secrets = await renderSecretManifests(session, access, signal);
    const objects = await collectObjects(session, access);
    const { machine, bytes } = await writeSnapshot(session, access, file('etcd'));
    const texts = { secrets, objects };
    for (const [kind, text] of Object.entries(texts))
      await writeEncryptedFile(file(kind), (write) => write(Buffer.from(text.reveal(), 'utf8')));
    const caller = await findCaller(session);
    await recordOnCluster(session, access.cluster, {
      reason: 'BackupTaken',
      message: `${describeCaller(caller)} took a backup: ${bytes} bytes of etcd from ${machine}, and the Secrets of the cluster.`,
    });
    const files = ['etcd', ...Object.keys(texts)].map((kind) => file(kind).path);
    print(output === 'text' ? files.join('\n') : formatStructured({ files } satisfies CommandOutput<'backup'>, output));
  });
}

function requireRecipients(recipients: readonly string[]): void {
  const wrong = recipients.find((recipient) => !isRecipient(recipient));
  if (wrong !== undefined) throw new ProviderError('CONFIG_INVALID', `--recipient: ${wrong} is no public key of age.`);
}

async function collectObjects({ kube, namespace, clock, signal }: AccessSession, access: ClusterAccess) {
  const allowed = <T>(request: Promise<T>) => whatIsAllowed(request);
  const { id: installation } = await allowed(readInstallation({ kube, namespace }, signal));
  return await allowed(collectClusterObjects({ kube, namespace, installation, now: clock.now() }, access, signal));
}

/** The snapshot of a member; if that fails, of another one. */
async function writeSnapshot(
  { signal, clock, log }: AccessSession,
  { machines, secrets }: ClusterAccess,
  file: Parameters<typeof writeEncryptedFile>[0],
): Promise<SnapshotReport> {
  const controlPlanes = listControlPlanes(machines);
  const failed: string[] = [];
  const source = { controlPlanes, failed, bundle: secrets.bundle, clock, signal };
  let report: SnapshotReport | undefined;
  while (!report) {
    try {
      await writeEncryptedFile(file, async (write) => {
        report = await streamSnapshot(source, write);
      });
    } catch (error) {
      if (!(error instanceof SnapshotError) || failed.includes(error.machine)) throw error;
      failed.push(error.machine);
      if (failed.length === controlPlanes.length) throw error;
      log.warn({ machine: error.machine, error: error.message }, 'a snapshot has failed, another member is asked');
    }
  }
  log.info({ ...report }, 'the snapshot of etcd is whole');
  return report;
}
