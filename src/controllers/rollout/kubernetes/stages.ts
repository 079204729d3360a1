import type { ComponentVersions, Machine, MachineSpec, MachineStatus } from '../../../api/machine.ts';
import type { UpgradeHop } from './target-version.ts';
import {
  type Component,
  components,
  desiredComponent,
  isControlPlane,
  isVersion,
  newerVersion,
  olderVersion,
  runsAtLeast,
  seenComponent,
  seenKubelet,
} from './versions.ts';

/** The stages of a hop, in their order. The next one begins when every machine was seen with the one before. */
export const stages = [...components, 'controlPlaneKubelets', 'workerKubelets', 'manifests'] as const;
export type Stage = (typeof stages)[number];

/** The versions of a Machine as its spec has them. */
export type KubernetesVersions = Pick<MachineSpec, 'kubernetesVersion' | 'components'>;

/** A Machine, also one that does not exist yet. */
export interface StagedMachine {
  readonly spec: Pick<MachineSpec, 'role'>;
  readonly status?: Pick<MachineStatus, 'applied'> | undefined;
}

export interface StagePlan {
  readonly stage: Stage;
  /** How many machines were seen with the version of the stage, and of how many. */
  readonly done: number;
  readonly total: number;
  /** The stage has not begun: no Machine asks for its version yet. */
  readonly isNew: boolean;
  /** What a Machine of a role is to have, also one that is made now. */
  desired(machine: StagedMachine): KubernetesVersions;
}

/**
 * Decides from the versions that were seen and those that the Machines ask for. A stage that has begun stays begun, also
 * when a control plane without any version joins. `isPrepared`: the first stage may begin.
 */
export function planStages({ from, to }: UpgradeHop, machines: readonly Machine[], isPrepared: boolean): StagePlan {
  const progress = stages.map((stage) => observeStage(stage, to, machines));
  const current = progress.findIndex(({ done, total }) => done < total);
  const index = current < 0 ? stages.length - 1 : current;
  const { stage = 'manifests', done = 0, total = 0, isAsked = false } = progress[index] ?? {};
  const begun = new Set(
    progress
      .filter(({ isAsked: asked }, i) => asked || (i <= index && (i > 0 || isPrepared)))
      .map(({ stage: name }) => name),
  );
  const desired = (machine: StagedMachine): KubernetesVersions =>
    describeVersions(machine, {
      from,
      to,
      begun,
      limit: oldestApiServer(machines, begun.has('apiServer') ? to : from),
    });
  return { stage, done, total, isNew: !isAsked && stage !== 'manifests', desired };
}

/** The versions of the Machines of a cluster that is not being upgraded. */
export const settledVersions = (running: string): KubernetesVersions => ({ kubernetesVersion: running });

interface StageProgress {
  readonly stage: Stage;
  readonly done: number;
  readonly total: number;
  readonly isAsked: boolean;
}

function observeStage(stage: Stage, to: string, machines: readonly Machine[]): StageProgress {
  const concerned =
    stage === 'manifests' ? [] : machines.filter((one) => isControlPlane(one) !== (stage === 'workerKubelets'));
  const done = concerned.filter((machine) => runsAtLeast(seenVersion(machine, stage), to)).length;
  const isAsked = concerned.some((machine) => runsAtLeast(askedVersion(machine, stage), to));
  return { stage, done, total: concerned.length, isAsked };
}

const isComponent = (stage: Stage): stage is Component => components.some((component) => component === stage);

const askedVersion = (machine: Pick<Machine, 'spec'>, stage: Stage): string =>
  isComponent(stage) ? desiredComponent(machine, stage) : machine.spec.kubernetesVersion;

function seenVersion(machine: Machine, stage: Stage): string | undefined {
  if (!isComponent(stage)) return seenKubelet(machine);
  const seen = seenComponent(machine, stage);
  // The proxy is no static pod: its image is in the configuration, from which Talos renders the DaemonSet.
  return (
    seen ?? (stage === 'proxy' && hasDesiredConfiguration(machine) ? desiredComponent(machine, 'proxy') : undefined)
  );
}

const hasDesiredConfiguration = ({ metadata, status }: Machine): boolean =>
  status?.observedGeneration === metadata.generation && status?.applied?.revision !== undefined && !status.pending;

/** The oldest API server; one that was not seen yet comes up with the version that its Machine asks for. */
const oldestApiServer = (machines: readonly Machine[], none: string): string =>
  machines
    .filter(isControlPlane)
    .map((machine) => seenComponent(machine, 'apiServer') ?? desiredComponent(machine, 'apiServer'))
    .filter(isVersion)
    .reduce(olderVersion, none);

interface Limits {
  readonly from: string;
  readonly to: string;
  readonly begun: ReadonlySet<Stage>;
  /** A kubelet must not be newer than the oldest API server. */
  readonly limit: string;
}

function describeVersions(machine: StagedMachine, { from, to, begun, limit }: Limits): KubernetesVersions {
  // What runs between the two versions, from an earlier attempt at this hop, stays.
  const versionOf = (stage: Stage, seen: string | undefined): string =>
    begun.has(stage) ? to : seen && runsAtLeast(to, seen) ? newerVersion(from, seen) : from;
  const kubelets = isControlPlane(machine) ? 'controlPlaneKubelets' : 'workerKubelets';
  const seen = machine.status?.applied?.kubernetesVersion;
  const allowed = olderVersion(versionOf(kubelets, seen), limit);
  const kubernetesVersion = seen && runsAtLeast(to, seen) ? newerVersion(allowed, seen) : allowed;
  if (!isControlPlane(machine)) return { kubernetesVersion };
  const named = components.flatMap((component) => {
    const version = versionOf(component, machine.status?.applied?.components?.[component]);
    return version === kubernetesVersion ? [] : [[component, version] as const];
  });
  const differing: ComponentVersions = Object.fromEntries(named);
  return named.length === 0 ? { kubernetesVersion } : { kubernetesVersion, components: differing };
}

const stageNames: Readonly<Record<Stage, string>> = {
  apiServer: 'API servers run',
  controllerManager: 'controller managers run',
  scheduler: 'schedulers run',
  proxy: 'control planes have kube-proxy',
  controlPlaneKubelets: 'kubelets of control planes run',
  workerKubelets: 'kubelets of workers run',
  manifests: '',
};

/** `2 of 3 API servers run 1.35.2`. */
export const describeStage = ({ stage, done, total }: StagePlan, to: string): string =>
  stage === 'manifests'
    ? `Every machine runs ${to}, and the bootstrap manifests are applied`
    : `${done} of ${total} ${stageNames[stage]} ${to}`;
