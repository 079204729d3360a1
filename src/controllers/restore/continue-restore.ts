import { conditionFalse } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { Namespace } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { isFutureTime } from '../../lib/recorded-time.ts';
import { formatTime } from '../../lib/text.ts';
import { clusterIdentityOf, machinesOfCluster } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { recordWrite } from '../shared/status-writes.ts';
import { decideRestore, type RestoreAction } from './decide-restore.ts';
import { observeControlPlanes } from './observe-control-planes.ts';
import { endApproval } from './prepare-restore.ts';
import { recoverEtcd } from './recover-etcd.ts';
import { reportCompleted, reportRestore } from './report-restore.ts';
import type { RunningRestore } from './running-restore.ts';
import { wipeControlPlanes } from './wipe-control-planes.ts';
import { writeRestoreRecord } from './write-restore-record.ts';

const progressSeconds = 5;
const failedSeconds = 60;
/** After that a control plane that has not joined is left to remediation. */
const joinMinutes = 30;

/** Does the next step of a restore, and reports the progress. */
export async function continueRestore(
  services: Services,
  restore: RunningRestore,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { cluster, record } = restore;
  const ref = clusterIdentityOf(cluster);
  await endApproval(services, cluster, context.signal);
  const machines = machinesOfCluster(services, ref);
  const states = await observeControlPlanes(services, ref, machines, context.signal);
  const action = decideRestore(record, states);
  const message = await act(services, restore, { action, machines }, context);
  if (message === undefined) {
    await completeRestore(services, restore, context);
    return { requeueAfterSeconds: progressSeconds };
  }
  const reason = action.kind === 'fail' ? 'RestoreFailed' : 'Restoring';
  const text = `Etcd is being restored from ${record.key}, the backup of ${formatTime(new Date(record.time))}. ${message}`;
  await reportRestore(services, cluster, conditionFalse('EtcdRestored', reason, text), context.signal);
  return { requeueAfterSeconds: action.kind === 'fail' ? failedSeconds : progressSeconds };
}

interface RestoreStep {
  readonly action: RestoreAction;
  readonly machines: readonly Machine[];
}

/** Returns what is waited for; undefined when the restore is over. */
async function act(
  services: Services,
  restore: RunningRestore,
  { action, machines }: RestoreStep,
  context: ReconcileContext,
): Promise<string | undefined> {
  switch (action.kind) {
    case 'wait':
    case 'fail':
      return action.message;
    case 'wipe':
      return await wipeControlPlanes(services, restore, machines, action.boots, context);
    case 'cancel':
      await writeRestoreRecord(services, restore.secret, undefined, context.signal);
      services.events.record(restore.cluster, 'Normal', 'RestoreCancelled', 'Etcd works again, and nothing was wiped.');
      return 'Etcd works again, and nothing was wiped.';
    case 'begin-again': {
      const { request: _, ...record } = restore.record;
      await writeRestoreRecord(services, restore.secret, record, context.signal);
      return 'The control planes are wiped again.';
    }
    case 'recover': {
      const machine = machines.find(({ metadata }) => metadata.name === action.machine);
      return machine ? await recoverEtcd(services, restore, machine, context) : `${action.machine} is gone.`;
    }
    case 'prove':
      return await prove(services, restore, action, context);
  }
}

/** The API server answers with what the snapshot holds, and the other control planes have joined. */
async function prove(
  services: Services,
  restore: RunningRestore,
  { machine, missing }: Extract<RestoreAction, { kind: 'prove' }>,
  context: ReconcileContext,
): Promise<string | undefined> {
  const { clock } = services;
  const { record, secret } = restore;
  if (record.provenAt === undefined || isFutureTime(record.provenAt, clock.now())) {
    const problem = await findApiServerProblem(services, restore, context);
    if (problem !== undefined) return `Etcd runs on ${machine}. ${problem}`;
    const provenAt = clock.now().toISOString();
    await writeRestoreRecord(services, secret, { ...record, provenAt }, context.signal);
    return `Etcd runs on ${machine}, and the API server answers.`;
  }
  const isLate = clock.now().getTime() - Date.parse(record.provenAt) > joinMinutes * 60_000;
  if (missing.length === 0 || isLate) return undefined;
  return `Etcd runs on ${machine}, and the API server answers. ${missing.join(', ')} ${missing.length > 1 ? 'have' : 'has'} not joined yet.`;
}

async function findApiServerProblem(
  services: Services,
  { cluster, record }: RunningRestore,
  { signal }: ReconcileContext,
): Promise<string | undefined> {
  const ref = clusterIdentityOf(cluster);
  const url = externalEndpointUrl(cluster) ?? cluster.status?.apiServer;
  if (url === undefined) return undefined;
  try {
    const client = await services.targets.client(ref, url);
    const { resourceVersion } = await client.list(Namespace, {}, signal);
    const found = Number(resourceVersion);
    if (record.revision === undefined || found >= record.revision) return undefined;
    return `The API server is at revision ${found}, and the snapshot has ${record.revision}.`;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
    return `${url} does not answer yet: ${error.message}`;
  }
}

/** The annotations first: the record is what makes a process come back here. */
async function completeRestore(
  services: Services,
  { cluster, record, secret }: RunningRestore,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const { key } = record;
  const ref = clusterIdentityOf(cluster);
  // Revisions have gone back: what was cached of the cluster before is dropped.
  await services.nodes.forget(ref);
  await services.targets.forget(ref);
  const isSame = cluster.metadata.annotations?.[annotations.restore] === key;
  const notes = { [annotations.restore]: null, [annotations.restoreIdentity]: null };
  // The cache shows the request for a while: it must not be followed twice.
  if (isSame)
    await recordWrite(services.kube, Cluster, cluster, () =>
      services.kube.merge(Cluster, ref, { metadata: { annotations: notes } }, {}, signal),
    );
  const completed = { ...record, completedAt: services.clock.now().toISOString() };
  await writeRestoreRecord(services, secret, completed, signal);
  await reportCompleted(services, cluster, completed, signal);
  services.events.record(cluster, 'Normal', 'EtcdRestored', `Etcd was restored from ${key}.`);
  log.info({ key }, 'etcd is restored');
}
