import type { Machine } from '../../../api/machine.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Preparation } from './prepare-upgrade.ts';
import { describeStage, type KubernetesVersions, planStages, type StagePlan, settledVersions } from './stages.ts';
import { decideTargetVersion, type UpgradeHop, type VersionDecision } from './target-version.ts';
import { newestApiServer } from './versions.ts';

/** What is known of the upgrade of a cluster. */
export interface UpgradeView {
  /** The version of the cluster record; undefined for a cluster that has none. */
  readonly running: string | undefined;
  /** Without a leading `v`. */
  readonly desired: string | undefined;
  /** Undefined: the spec cannot be determined, and nothing changes. */
  readonly spec: Pick<ProviderConfigSpec, 'kubernetes' | 'talos'> | undefined;
  readonly machines: readonly Machine[];
  /** A Machine is being changed: its desired state must not change meanwhile. */
  readonly isChanging: boolean;
  /** A user holds the changes up. */
  readonly isPaused: boolean;
  /** The results of this reconcile, if there are any. */
  readonly preparation?: Preparation | undefined;
  readonly manifests?: ManifestProgress | undefined;
}

export type ManifestProgress =
  | { readonly kind: 'applied' }
  | { readonly kind: 'waits'; readonly message: string }
  /** The API server rejects an object. */
  | { readonly kind: 'blocked'; readonly message: string };

/** What to do next for the Kubernetes version of a cluster. */
export type UpgradeDecision =
  /** The cluster has its version, or the request is refused. */
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly message: string }
  | Extract<Preparation, { kind: 'blocked' }>
  /** Check, and pull the images. */
  | { readonly kind: 'prepare'; readonly hop: UpgradeHop }
  /** The Machines are to ask for other versions. */
  | { readonly kind: 'write'; readonly hop: UpgradeHop | undefined; readonly plan: StagePlan | undefined }
  /** The rollout brings the versions of the stage to the nodes. */
  | { readonly kind: 'roll'; readonly hop: UpgradeHop; readonly message: string }
  | { readonly kind: 'apply-manifests'; readonly hop: UpgradeHop }
  /** The cluster record gets the version. */
  | { readonly kind: 'record'; readonly hop: UpgradeHop };

export function decideVersion({ running, desired, spec, machines }: UpgradeView): VersionDecision {
  if (!running || !spec) return {};
  const talos = machines.map(({ metadata, spec: { talosVersion }, status }) => ({
    machine: metadata.name,
    version: status?.applied?.talosVersion ?? talosVersion,
  }));
  return decideTargetVersion({ running, desired, spec, newestApiServer: newestApiServer(machines), talos });
}

/** Decides from the view alone. Each stage is opened for all Machines together, and the rollout takes one at a time. */
export function decideUpgrade(view: UpgradeView): UpgradeDecision {
  const { hop, waits } = decideVersion(view);
  const { running, machines, preparation } = view;
  if (!running || !view.spec) return { kind: 'none' };
  if (!hop || waits !== undefined) return decideSettled(view, running, waits);
  const plan = planStages(hop, machines, preparation?.kind === 'ready');
  if (differs(machines, plan.desired) && !(plan.stage === 'apiServer' && plan.isNew && preparation?.kind !== 'ready'))
    return decideWrite(view, hop, plan);
  if (plan.stage === 'manifests') return decideManifests(view, hop);
  const needsPreparation = plan.stage === 'apiServer' && plan.isNew;
  const message = `${describeHop(hop)}: ${describeStage(plan, hop.to)}.`;
  if (!needsPreparation) return { kind: 'roll', hop, message };
  if (view.isPaused) return { kind: 'wait', message };
  if (!preparation) return { kind: 'prepare', hop };
  return preparation.kind === 'waits'
    ? { kind: 'wait', message: preparation.message }
    : asBlocked(preparation, message);
}

const asBlocked = (preparation: Preparation, message: string): UpgradeDecision =>
  preparation.kind === 'blocked' ? preparation : { kind: 'wait', message };

/** What the Machines of a cluster are to have, also one that is made now. */
export function desiredVersions(view: UpgradeView): StagePlan['desired'] {
  const { hop, waits } = decideVersion(view);
  const { running = '', machines, preparation } = view;
  if (!hop || waits !== undefined) return () => settledVersions(running);
  return planStages(hop, machines, preparation?.kind === 'ready').desired;
}

/** Without an upgrade, or before it: what was asked for and has not begun is taken back. */
function decideSettled(view: UpgradeView, running: string, waits: string | undefined): UpgradeDecision {
  if (differs(view.machines, () => settledVersions(running))) return decideWrite(view, undefined, undefined);
  return waits === undefined ? { kind: 'none' } : { kind: 'wait', message: waits };
}

function decideWrite(view: UpgradeView, hop: UpgradeHop | undefined, plan: StagePlan | undefined): UpgradeDecision {
  const message = hop && plan ? `${describeHop(hop)}: ${describeStage(plan, hop.to)}.` : 'The upgrade is taken back.';
  if (view.isChanging || (view.isPaused && plan?.isNew === true)) return { kind: 'wait', message };
  return { kind: 'write', hop, plan };
}

function decideManifests({ manifests, isPaused, isChanging }: UpgradeView, hop: UpgradeHop): UpgradeDecision {
  const message = `${describeHop(hop)}: every machine runs ${hop.to}, and the bootstrap manifests are applied.`;
  if (isPaused || isChanging) return { kind: 'wait', message };
  if (!manifests) return { kind: 'apply-manifests', hop };
  if (manifests.kind === 'applied') return { kind: 'record', hop };
  const explained = `${message} ${manifests.message}`;
  return manifests.kind === 'blocked'
    ? { kind: 'blocked', reason: 'ManifestsRejected', message: explained }
    : { kind: 'wait', message: explained };
}

/** `Kubernetes 1.33.4 is upgraded to 1.34.3, on the way to 1.35.2`. */
export const describeHop = ({ from, to, target }: UpgradeHop): string =>
  `Kubernetes ${from} is upgraded to ${to}${target === to ? '' : `, on the way to ${target}`}`;

/** Machines in deletion are left as they are. */
export const listOutdatedSpecs = (
  machines: readonly Machine[],
  desired: (machine: Machine) => KubernetesVersions,
): Machine[] =>
  machines
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .filter((machine) => !isSame(machine, desired(machine)));

const differs = (machines: readonly Machine[], desired: (machine: Machine) => KubernetesVersions): boolean =>
  listOutdatedSpecs(machines, desired).length > 0;

function isSame({ spec }: Machine, { kubernetesVersion, components = {} }: KubernetesVersions): boolean {
  const present = Object.entries(spec.components ?? {}).filter(([, version]) => version !== undefined);
  return (
    spec.kubernetesVersion === kubernetesVersion &&
    present.length === Object.keys(components).length &&
    Object.entries(components).every(([name, version]) =>
      present.some(([key, value]) => key === name && value === version),
    )
  );
}
