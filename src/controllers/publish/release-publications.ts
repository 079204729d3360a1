import { belongsToCluster, type ClusterIdentity } from '../../api/cluster-identity.ts';
import { conditionFalse } from '../../api/conditions.ts';
import { instanceFinalizers, labels } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { assessTargetCluster } from '../access-request/find-target-cluster.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { clusterReports, writeClusterReport } from '../shared/cluster-report.ts';
import { removeFinalizer } from '../shared/objects.ts';
import type { FormServices } from './act-on-form.ts';
import type { PublicationProblem } from './decide-form.ts';
import { continueWithdrawal, decideWithdrawal } from './decide-withdrawal.ts';
import { leaveCluster } from './leave-cluster.ts';
import { type PublicationPlace, publicationForms } from './publication.ts';
import { type PublicationMemory, type PublicationRecord, renderPublicationRecord } from './publication-record.ts';
import { withdrawForm } from './withdraw.ts';

/**
 * A Cluster is being deleted, and nobody but this provider holds it: withdraws what was published and lets consumers go,
 * then releases the Cluster, whose machines are deleted only after that.
 */
export async function releasePublications(
  services: FormServices,
  memory: PublicationMemory,
  cluster: Cluster,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { clock, events } = services;
  const record = memory.recordOf(cluster);
  const left = await withdrawAll(services, cluster, record, context);
  const withdrawal = continueWithdrawal(record.withdrawal, left, clock.now());
  const wasPublished = record.forms.some(({ since }) => since !== undefined);
  const decision = decideWithdrawal({ withdrawal, left, wasPublished, now: clock.now() });
  if (decision.kind === 'wait') {
    const next = { ...record, withdrawal };
    const condition = conditionFalse('Published', decision.problem.reason, decision.problem.message);
    const content = { condition, record: renderPublicationRecord(next) };
    await writeClusterReport(services, cluster, clusterReports.publish, content, context.signal);
    memory.remember(cluster, next);
    return { requeueAfterSeconds: decision.seconds };
  }
  if (decision.kind === 'give-up') {
    const message = `The deletion goes on although consumers have not let go: ${decision.problem.message}`;
    events.record(cluster, 'Warning', 'WithdrawalIncomplete', message);
    context.log.warn({ problem: decision.problem.message }, 'published objects are left behind');
  }
  await leaveAll(services, cluster, record, context);
  const finalizer = instanceFinalizers(services).publication;
  await removeFinalizer(services.kube, Cluster, cluster, finalizer, context.signal);
  events.record(cluster, 'Normal', 'Withdrawn', 'The cluster is not published any more.');
  return {};
}

/** Where Secrets of the Cluster are, in case its status was lost. */
const listCachedPlaces = ({ stores }: FormServices, ref: ClusterIdentity): PublicationPlace[] =>
  stores.accessSecrets.list().flatMap(({ metadata }) => {
    const form = publicationForms.find((one) => one === metadata.labels?.[labels.published]);
    return form && belongsToCluster(metadata, ref) ? [{ form, namespace: metadata.namespace ?? '' }] : [];
  });

/** The first thing that is still there. */
async function withdrawAll(
  services: FormServices,
  cluster: Cluster,
  { forms }: PublicationRecord,
  { signal }: ReconcileContext,
): Promise<PublicationProblem | undefined> {
  const ref = clusterIdentityOf(cluster);
  const places = [...forms, ...listCachedPlaces(services, ref)];
  const all = await Promise.all(places.map((place) => withdrawForm(services, place, ref, signal)));
  return all.find((problem) => problem !== undefined);
}

/** The nodes of an adopted cluster stay. A cluster that does not answer is not waited for: it is about to go. */
async function leaveAll(
  services: FormServices,
  cluster: Cluster,
  { forms }: PublicationRecord,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const target = assessTargetCluster(services, cluster);
  if ('waiting' in target) return;
  for (const { form } of forms) {
    const problem = await leaveCluster(services, form, target, signal);
    if (problem) log.info({ form, error: problem.message }, 'the account of a publication is left in its cluster');
  }
}
