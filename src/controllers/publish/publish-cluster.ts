import { fleetName, instanceFinalizers } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { assessTargetCluster } from '../access-request/find-target-cluster.ts';
import { secondsUntilResync } from '../access-request/resync-interval.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { clusterReports, writeClusterReport } from '../shared/cluster-report.ts';
import { ensureFinalizer, removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { actOnForm, type FormServices } from './act-on-form.ts';
import { decideForm, type FormView, notStableYet, type PublicationProblem } from './decide-form.ts';
import { describePublication, type FormOutcome, isPublished } from './describe-publication.ts';
import { leaveCluster } from './leave-cluster.ts';
import { isSamePlace, type Publication, publishedSecretName } from './publication.ts';
import {
  findEntry,
  type PublicationEntry,
  type PublicationMemory,
  type PublicationRecord,
  renderPublicationRecord,
} from './publication-record.ts';
import { secondsUntilStable } from './readiness.ts';
import { withdrawForm } from './withdraw.ts';

/** Also for what a user creates where no informer sees it, such as a namespace. */
const retrySeconds = 30;

interface PublicationTask {
  readonly cluster: Cluster;
  readonly publications: readonly Publication[];
}

/** Publishes a Cluster in these forms, and withdraws all others. */
export async function publishCluster(
  services: FormServices,
  memory: PublicationMemory,
  { cluster: found, publications }: PublicationTask,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const finalizer = instanceFinalizers(services).publication;
  let record = memory.recordOf(found);
  if (publications.length === 0 && record.forms.length === 0) {
    await removeFinalizer(services.kube, Cluster, found, finalizer, context.signal);
    await report(services, memory, found, { record: { forms: [] }, condition: undefined }, context);
    return {};
  }
  const untilStable = secondsUntilStable(found, services.clock.now());
  const isBegun = record.forms.length > 0;
  if (!isBegun && untilStable > 0)
    return await awaitReadiness(services, memory, { cluster: found, publications }, untilStable, context);
  const cluster = await ensureFinalizer(services.kube, Cluster, found, finalizer, context.signal);
  if (!cluster) return {};
  record = addEntries(cluster, record, publications);
  // What is recorded is found again, whatever happens next.
  await report(services, memory, cluster, { record, condition: 'keep' }, context);
  const withdrawn = await withdrawOthers(services, { cluster, publications }, record, context);
  const outcomes = await Promise.all(
    publications.map((one) => reconcileForm(services, cluster, one, { record, isStable: untilStable <= 0 }, context)),
  );
  const next = { ...record, forms: updateEntries(withdrawn.forms, outcomes, services.clock.now()) };
  recordEvents(services, cluster, outcomes);
  const condition = describePublication(clusterIdentityOf(cluster), outcomes, withdrawn.problem);
  await report(services, memory, cluster, { record: next, condition }, context);
  if (next.forms.length === 0) return { requeueAfterSeconds: 1 };
  return { requeueAfterSeconds: secondsUntilNext(services, outcomes, { ...withdrawn, untilStable }) };
}

async function awaitReadiness(
  services: FormServices,
  memory: PublicationMemory,
  { cluster, publications }: PublicationTask,
  seconds: number,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const outcomes = publications.map((publication): FormOutcome => {
    return { publication, result: { kind: 'waiting', problem: notStableYet }, wasPublished: false };
  });
  const condition = describePublication(clusterIdentityOf(cluster), outcomes, undefined);
  await report(services, memory, cluster, { record: { forms: [] }, condition }, context);
  return Number.isFinite(seconds) ? { requeueAfterSeconds: seconds } : {};
}

/** The record with an entry for each form. */
function addEntries(
  cluster: Cluster,
  { forms }: PublicationRecord,
  publications: readonly Publication[],
): PublicationRecord {
  const added = publications
    .filter((one) => !forms.some((entry) => isSamePlace(entry, one)))
    .map(({ form, namespace }): PublicationEntry => ({ form, namespace }));
  return { name: fleetName(clusterIdentityOf(cluster)), forms: [...forms, ...added] };
}

interface WithdrawnForms {
  readonly forms: readonly PublicationEntry[];
  readonly problem: PublicationProblem | undefined;
}

/** Withdraws the forms that are not asked for any more, then what belongs to them in the cluster. */
async function withdrawOthers(
  services: FormServices,
  { cluster, publications }: PublicationTask,
  { forms }: PublicationRecord,
  { signal }: ReconcileContext,
): Promise<WithdrawnForms> {
  const ref = clusterIdentityOf(cluster);
  const left: PublicationEntry[] = [];
  let problem: PublicationProblem | undefined;
  for (const entry of forms) {
    if (publications.some((one) => isSamePlace(one, entry))) left.push(entry);
    else {
      const isLeft = publications.some(({ form }) => form === entry.form);
      const obstacle =
        (await withdrawForm(services, entry, ref, signal)) ??
        // The account of the form is still in use, for another namespace.
        (isLeft ? undefined : await leaveForm(services, cluster, entry, signal));
      if (obstacle) left.push(entry);
      problem ??= obstacle;
    }
  }
  return { forms: left, problem };
}

async function leaveForm(
  services: FormServices,
  cluster: Cluster,
  entry: PublicationEntry,
  signal: AbortSignal,
): Promise<PublicationProblem | undefined> {
  const target = assessTargetCluster(services, cluster);
  if ('waiting' in target) {
    const { reason, message = '' } = target.waiting;
    return { reason, message: `The account of ${entry.form} is still in the cluster: ${message}` };
  }
  return await leaveCluster(services, entry.form, target, signal);
}

interface FormTask {
  readonly record: PublicationRecord;
  readonly isStable: boolean;
}

async function reconcileForm(
  services: FormServices,
  cluster: Cluster,
  publication: Publication,
  { record, isStable }: FormTask,
  context: ReconcileContext,
): Promise<FormOutcome> {
  const { namespace, form } = publication;
  const wasPublished = findEntry(record, publication)?.since !== undefined;
  let view: FormView = {
    ...{ publication, provider: services.provider, ownNamespace: services.namespace, isStable, wasPublished },
    target: assessTargetCluster(services, cluster),
    secret: services.stores.accessSecrets.get({ namespace, name: publishedSecretName(form, publication.cluster) }),
  };
  for (;;) {
    const decision = decideForm(view, services.clock.now());
    if (decision.kind === 'settled') return { publication, result: decision.result, wasPublished };
    view = await actOnForm(services, view, decision, context);
  }
}

/** Entries of published forms get the time since when they are. */
const updateEntries = (
  entries: readonly PublicationEntry[],
  outcomes: readonly FormOutcome[],
  now: Date,
): PublicationEntry[] =>
  entries.map((entry) => {
    const outcome = outcomes.find(({ publication }) => isSamePlace(publication, entry));
    return outcome && isPublished(outcome) && !entry.since ? { ...entry, since: now } : entry;
  });

function recordEvents({ events }: Services, cluster: Cluster, outcomes: readonly FormOutcome[]): void {
  const known = cluster.status?.conditions?.find(({ type }) => type === 'Published')?.reason;
  for (const { publication, result, wasPublished } of outcomes) {
    const { form, namespace } = publication;
    if (result.kind === 'published' && !wasPublished) {
      const message = `The cluster is published in namespace ${namespace}, as spec.publish.${form} says.`;
      events.record(cluster, 'Normal', 'Published', message);
    }
    if (result.kind === 'problem' && known !== result.problem.reason)
      events.record(cluster, 'Warning', result.problem.reason, result.problem.message);
  }
}

function secondsUntilNext(
  { clock }: Pick<Services, 'clock'>,
  outcomes: readonly FormOutcome[],
  { problem, untilStable }: { readonly problem: unknown; readonly untilStable: number },
): number {
  const secondsTo = (time: Date): number => (time.getTime() - clock.now().getTime()) / 1000;
  const seconds = outcomes.map(({ result }) => {
    if (result.kind === 'published')
      return Math.max(1, Math.min(secondsTo(result.renewalDue), result.healthSeconds ?? Number.POSITIVE_INFINITY));
    return result.kind === 'waiting' && untilStable > 0 ? untilStable : retrySeconds;
  });
  return Math.min(secondsUntilResync(clock), ...seconds, problem ? retrySeconds : Number.POSITIVE_INFINITY);
}

interface PublicationReport {
  readonly record: PublicationRecord;
  /** `keep`: what the status says. */
  readonly condition: ReturnType<typeof describePublication> | 'keep';
}

async function report(
  services: FormServices,
  memory: PublicationMemory,
  cluster: Cluster,
  { record, condition }: PublicationReport,
  { signal }: ReconcileContext,
): Promise<void> {
  const known = cluster.status?.conditions?.find(({ type }) => type === 'Published');
  const state = condition === 'keep' ? (known as ReturnType<typeof describePublication>) : condition;
  const content = { condition: state, record: renderPublicationRecord(record) };
  await writeClusterReport(services, cluster, clusterReports.publish, content, signal);
  memory.remember(cluster, record);
}
