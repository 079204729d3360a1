import type { Machine } from '../../api/machine.ts';
import type { ReconcileContext } from '../../kube/controller/controller.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import { clusterIdentityOf } from '../cluster/view.ts';
import { controlPlaneOf } from '../shared/control-planes/control-plane.ts';
import { type NodeFailure, queryNode } from '../shared/control-planes/query-node.ts';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';
import { readRestoreRequest } from './restore-request.ts';
import { withBackupSource } from './restore-source.ts';
import type { RunningRestore } from './running-restore.ts';
import { type BackupSource, findBackup, openSnapshot } from './verify-backup.ts';
import { writeRestoreRecord } from './write-restore-record.ts';

/** A large database over two slow lines. */
const recoverSeconds = 2400;

/**
 * Sends the snapshot to a control plane and bootstraps etcd from it in the same boot. The call is recorded before it is
 * made. Returns what is waited for.
 */
export async function recoverEtcd(
  services: Services,
  restore: RunningRestore,
  machine: Machine,
  context: ReconcileContext,
): Promise<string> {
  const { cluster, record } = restore;
  const { name } = machine.metadata;
  // A user may have named another Secret meanwhile.
  const asked = readRestoreRequest(cluster);
  const identity =
    asked && !(asked instanceof ProviderError) && asked.key === record.key ? asked.identity : record.identity;
  try {
    return await withDeadline(recoverSeconds, context.signal, (signal) =>
      withBackupSource(services, cluster, { key: record.key, identity }, signal, async (source) => {
        const target = controlPlaneOf(services, clusterIdentityOf(cluster), machine, signal);
        const failed = await queryNode(target, async (node) => {
          await sendAndBootstrap(services, restore, { name, node, source }, { ...context, signal });
          return undefined;
        });
        return failed ? describeFailure(name, failed) : `Etcd is being started on ${name}.`;
      }),
    );
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug') return error.message;
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return `To send the snapshot to ${name} has taken longer than ${recoverSeconds / 60} minutes. It is tried again.`;
    throw error;
  }
}

/** The snapshot comes from the bucket, whose errors are none of the node. */
const describeFailure = (name: string, { message, code = '' }: NodeFailure): string =>
  code.startsWith('TALOS_') ? `${name}: ${message}.` : `${message}.`;

interface Recovery {
  readonly name: string;
  readonly node: TalosClient;
  readonly source: BackupSource;
}

async function sendAndBootstrap(
  services: Services,
  { record, secret }: RunningRestore,
  { name, node, source }: Recovery,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const boot = await node.bootId({ signal });
  const { snapshot } = await findBackup(source);
  if (snapshot.sha256 !== record.sha256)
    throw new ProviderError(
      'BACKUP_DAMAGED',
      `${record.key}: it was replaced after it was verified. Name another backup.`,
    );
  // The stream breaks at its end if it is not what was verified, and then the node keeps nothing of it.
  await node.uploadEtcdSnapshot(await openSnapshot(source, snapshot), { signal });
  const service = await node.etcdService({ signal });
  const isSame = (await node.bootId({ signal })) === boot;
  if (!isSame || (service?.state !== 'Preparing' && service?.state !== 'Failed')) return;
  const request: RestoreRecord['request'] = { machine: name, boot, changedAt: service.changedAt };
  await writeRestoreRecord(services, secret, { ...record, request, attempts: record.attempts + 1 }, signal);
  await node.bootstrapFromSnapshot({ signal });
  log.info({ machine: name, key: record.key }, 'etcd is bootstrapped from the snapshot');
}
