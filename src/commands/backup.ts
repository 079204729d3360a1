import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../api/machine.ts';
import { ProviderError } from '../lib/errors.ts';
import { openTalosClient, type TalosClient } from '../talos/client/client.ts';
import { SnapshotVerifier } from '../talos/etcd-snapshot/snapshot-verifier.ts';
import type { KeyPair } from '../talos/secrets/certificates.ts';
import { issueTalosClientCertificate } from '../talos/secrets/talosconfig.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import { type ClusterAccess, findClusterAccess } from './access/find-cluster-access.ts';
import { describeCaller, findCaller, recordOnCluster } from './access/record-issue.ts';
import { chooseMember, type MemberAnswer } from './backup/choose-member.ts';
import { writeEncryptedFile } from './backup/encrypted-file.ts';
import { renderSecretManifests } from './backup/secret-manifests.ts';
import type { BackupSettings } from './flags/access-settings.ts';

/** A large database over a slow line. */
const timeoutSeconds = 2400;
/** A stopped member hangs. */
const statusSeconds = 10;
const certificateSeconds = 3600;
/** etcd's own limit for a database is 8 GiB. */
const maxSnapshotBytes = 10 * 2 ** 30;

/**
 * Writes an encrypted snapshot of etcd and the encrypted Secrets of a cluster to a folder. Nothing is written in clear, and
 * a snapshot that is not whole is not kept.
 */
export async function runBackup(options: BackupSettings & AccessCommandContext): Promise<void> {
  const { cluster: ref, recipients, output: folder, print } = options;
  await requireFolder(folder);
  await withAccessSession({ ...options, timeoutSeconds }, async (session) => {
    const access = await findClusterAccess(session, ref);
    const time = session.clock
      .now()
      .toISOString()
      .replace(/[-:]|\.\d+/g, '');
    const base = join(folder, `${ref.namespace}-${ref.name}-${time}`);
    const { signal } = session;
    const file = (kind: string) => ({ path: `${base}.${kind}.age`, recipients, signal });
    const secrets = await renderSecretManifests(session, access);
    const { machine, bytes } = await takeSnapshot(session, access, file('etcd'));
    await writeEncryptedFile(file('secrets'), (write) => write(Buffer.from(secrets.reveal(), 'utf8')));
    const caller = await findCaller(session);
    await recordOnCluster(session, access.cluster, {
      reason: 'BackupTaken',
      message: `${describeCaller(caller)} took a backup: ${bytes} bytes of etcd from ${machine}, and the Secrets of the cluster.`,
    });
    for (const kind of ['etcd', 'secrets']) print(file(kind).path);
  });
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory())
    throw new ProviderError('OUTPUT_REJECTED', `--output: ${folder} is no folder. Create it, or name another one.`);
}

async function takeSnapshot(
  session: AccessSession,
  { machines, secrets }: ClusterAccess,
  file: Parameters<typeof writeEncryptedFile>[0],
): Promise<{ readonly machine: string; readonly bytes: number }> {
  const { signal, clock, log } = session;
  const roles = ['os:etcd:backup', 'os:reader'] as const;
  const lifetime = { now: clock.now(), lifetimeSeconds: certificateSeconds, roles };
  const pair = await issueTalosClientCertificate(secrets.bundle, lifetime);
  const nodes = openNodes(machines, secrets.bundle.authorities.os.certificate, pair);
  try {
    const answers = await Promise.all([...nodes].map(([machine, node]) => askMember(machine, node, signal)));
    const machine = chooseMember(answers);
    const verifier = new SnapshotVerifier();
    await writeEncryptedFile(file, async (write) => {
      await nodes.get(machine)?.etcdSnapshot(
        async (piece) => {
          verifier.add(piece);
          if (verifier.bytes > maxSnapshotBytes) throw damaged(machine, `it is larger than ${maxSnapshotBytes} bytes`);
          await write(piece);
        },
        { signal },
      );
      const problem = verifier.finish();
      if (problem !== undefined) throw damaged(machine, problem);
    });
    log.info({ machine, bytes: verifier.bytes }, 'the snapshot of etcd is whole');
    return { machine, bytes: verifier.bytes };
  } finally {
    await Promise.all([...nodes.values()].map((node) => node.close()));
  }
}

/** The control planes that have an address. */
function openNodes(machines: readonly Machine[], ca: string, pair: KeyPair): ReadonlyMap<string, TalosClient> {
  const credentials = { ca, client: async () => pair };
  return new Map(
    machines.flatMap(({ spec, status, metadata }) =>
      spec.role === 'controlplane' && status?.address
        ? [[metadata.name, openTalosClient({ address: status.address, credentials })] as const]
        : [],
    ),
  );
}

async function askMember(machine: string, node: TalosClient, signal: AbortSignal): Promise<MemberAnswer> {
  try {
    return { machine, status: await node.etcdStatus({ signal, seconds: statusSeconds }) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { machine, problem: error.message.replace(/\.$/, '') };
  }
}

const damaged = (machine: string, problem: string): ProviderError =>
  new ProviderError(
    'TALOS_CALL_FAILED',
    `The snapshot of ${machine} is not kept: ${problem}. Try again; if it stays so, look at the disk of the node.`,
  );
