import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { approvalsOf } from '../machine/repair/approvals.ts';
import { describeHop } from '../rollout/kubernetes/decide-upgrade.ts';
import { deprecatedReason, type Preparation, prepareUpgrade } from '../rollout/kubernetes/prepare-upgrade.ts';
import { describeStage, type KubernetesVersions, settledVersions } from '../rollout/kubernetes/stages.ts';
import type { UpgradeHop } from '../rollout/kubernetes/target-version.ts';
import { applyManifests, recordVersion, writeVersions } from '../rollout/kubernetes/upgrade-effects.ts';
import type { Services } from '../shared/services.ts';
import type { UpgradeAction } from './decide-kubernetes.ts';
import { clusterIdentityOf } from './identity.ts';
import type { ClusterView } from './view.ts';

interface UpgradeContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Executes a decision about the upgrade of Kubernetes and returns the view after it. */
export async function actOnUpgrade(
  services: Services,
  view: ClusterView,
  action: UpgradeAction,
  context: UpgradeContext,
): Promise<ClusterView> {
  switch (action.kind) {
    case 'prepare': {
      const preparation = await prepare(services, view, action.hop, context);
      return { ...view, upgrade: { ...view.upgrade, preparation } };
    }
    case 'write':
      return await askForVersions(services, view, action, context);
    case 'apply-manifests':
      return await bringManifests(services, view, action.hop, context);
    case 'record':
      return await finishHop(services, view, action.hop, context);
  }
}

async function prepare(
  services: Services,
  { ref, machines, spec, addressing, cluster }: ClusterView,
  hop: UpgradeHop,
  { signal }: UpgradeContext,
): Promise<Preparation> {
  if (!spec || !addressing) throw new ProviderError('INTERNAL', 'The spec of the cluster is unknown.');
  const { approved } = approvalsOf(cluster);
  return await prepareUpgrade(services, { cluster: ref, machines, spec, addressing, hop, approved }, signal);
}

/** Opens a stage, or takes back what has not begun. */
async function askForVersions(
  services: Services,
  view: ClusterView,
  { hop, plan }: Extract<UpgradeAction, { kind: 'write' }>,
  { signal, log }: UpgradeContext,
): Promise<ClusterView> {
  const running = view.secrets?.kubernetesVersion ?? '';
  const settled = (): KubernetesVersions => settledVersions(running);
  const { machines, isWritten } = await writeVersions(services, view.machines, plan?.desired ?? settled, signal);
  // The cache has not shown the last writes yet.
  if (!isWritten) return { ...view, machines };
  if (!hop || !plan) {
    const message = `The upgrade of Kubernetes is taken back: every machine stays at ${running}.`;
    services.events.record(view.cluster, 'Normal', 'UpgradeCancelled', message);
    return { ...view, machines };
  }
  if (!plan.isNew) return { ...view, machines };
  const isFirst = plan.stage === 'apiServer';
  const text = `${describeHop(hop)}: ${describeStage(plan, hop.to)}.`;
  services.events.record(view.cluster, 'Normal', isFirst ? 'UpgradeStarted' : 'UpgradeProgressed', text);
  log.info({ from: hop.from, to: hop.to, stage: plan.stage }, 'stage of an upgrade of Kubernetes begins');
  return { ...view, machines, cluster: isFirst ? await useApproval(services, view.cluster, signal) : view.cluster };
}

/** An approval holds for one upgrade. */
async function useApproval({ kube }: Services, cluster: Cluster, signal: AbortSignal): Promise<Cluster> {
  const { approved } = approvalsOf(cluster);
  if (!approved.includes(deprecatedReason)) return cluster;
  const left = approved.filter((reason) => reason !== deprecatedReason).join(',');
  const patch = { metadata: { annotations: { [annotations.approve]: left === '' ? null : left } } };
  const { metadata } = await kube.merge(Cluster, clusterIdentityOf(cluster), patch, {}, signal);
  return { ...cluster, metadata };
}

async function bringManifests(
  services: Services,
  view: ClusterView,
  hop: UpgradeHop,
  { signal, log }: UpgradeContext,
): Promise<ClusterView> {
  const { ref, machines, endpoint, cluster } = view;
  const target = { cluster: ref, machines, endpoint: endpoint?.url ?? '', hop };
  const { progress, report } = await applyManifests(services, target, signal);
  if (report?.pruned.length) {
    const message = `Deleted from the cluster, because the bootstrap manifests do not contain it any more: ${report.pruned.join(', ')}.`;
    services.events.record(cluster, 'Normal', 'ManifestsPruned', message.slice(0, maxEventLength));
  }
  if (report) log.info({ to: hop.to, ...report }, 'bootstrap manifests applied');
  return { ...view, upgrade: { ...view.upgrade, manifests: progress } };
}

/** The limit of Kubernetes for the note of an Event. */
const maxEventLength = 1024;

async function finishHop(
  services: Services,
  view: ClusterView,
  { from, to }: UpgradeHop,
  { signal, log }: UpgradeContext,
): Promise<ClusterView> {
  if (!view.secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  const secrets = await recordVersion(services, view.secrets, to, signal);
  services.events.record(view.cluster, 'Normal', 'Upgraded', `Kubernetes was upgraded from ${from} to ${to}.`);
  log.info({ from, to }, 'Kubernetes was upgraded');
  return { ...view, secrets, upgrade: undefined };
}
