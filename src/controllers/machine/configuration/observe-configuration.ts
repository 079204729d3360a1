import { isExternalMachine } from '../../../api/machine.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Progress } from '../../../engine/advance.ts';
import type { HardwareComparison } from '../../../engine/capabilities/hardware.ts';
import { type ChangeClass, highestClass } from '../../../engine/change-class.ts';
import type { Facts } from '../../../engine/step.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type RunningVersions, readRunningVersions } from '../../../talos/client/running-versions.ts';
import { compareNode } from '../../../talos/update/compare-node.ts';
import { type DesiredNode, isUpdateOpen, type NodeChanges } from '../../../talos/update/update-context.ts';
import { findSpecChange } from '../../cluster/desired-machine-spec.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { findSecretsState } from '../../cluster/view.ts';
import { hashTrustRecord } from '../../rollout/oidc-trust/trust-record.ts';
import { hashComparison } from '../../rollout/spec-hash.ts';
import { isConfigAccepted } from '../is-config-accepted.ts';
import type { DesiredMachine } from '../reconcile/desired.ts';
import type { StepEnvironment } from '../step-environment.ts';
import { comparedMachinesOf } from './compared-machines.ts';
import { findReplacementProblem } from './find-replacement-problem.ts';
import { hashConfigSources } from './hash-config-sources.ts';

/** A running node, compared with what it is to be. */
export interface ConfigurationState extends NodeChanges {
  /** `hardware`: what the platform shows, if it can change it. */
  readonly running: NodeChanges['running'] & { readonly hardware?: string };
  /**
   * Hash of the spec that the desired configuration was rendered from. Undefined while the Machine does not follow the
   * spec yet: what it was compared with is about to change.
   */
  readonly spec: string | undefined;
  /** Identifies the desired state of the machine. */
  readonly revision: string;
}

/** What the node of a provisioned Machine is to be, and how it differs from it. */
export interface NodeObservation {
  /** Of a Machine whose update is in hand: its steps look themselves how the node differs. */
  readonly desiredNode?: DesiredNode | undefined;
  /** Why the update in hand cannot go on. */
  readonly updateObstacle?: string | undefined;
  /** Another machine answers at the address of the node, as a sentence. */
  readonly addressConflict?: string;
  /** What runs on a node of others, which is compared with nothing. */
  readonly running?: RunningVersions;
  /** Undefined if nothing has changed since the node was found up to date, or if it could not be compared. */
  readonly configuration?: ConfigurationState | undefined;
}

/** The class of the whole change. Undefined: the node is up to date. */
export const classOfChange = ({ changes, rejection }: NodeChanges): ChangeClass | undefined =>
  rejection === undefined ? highestClass(changes) : 'refused';

/**
 * Compares a running node with what it is to be. Nothing is compared while that is not possible: the ProviderConfig was
 * not accepted, the OIDC trust of the control plane is being changed, the node does not answer, or another machine has
 * its address. Also not while nothing has changed since the node was found up to date: that costs no call.
 */
export async function observeNode(desired: DesiredMachine, progress: Progress): Promise<NodeObservation> {
  const { context, environment } = desired;
  if (isExternalMachine(desired.machine)) return await observeExternalNode(desired, progress.facts);
  const isOpen = isUpdateOpen(progress);
  const obstacle = environment instanceof ProviderError ? environment.message : findObstacle(desired);
  if (environment instanceof ProviderError || obstacle !== undefined) return isOpen ? { updateObstacle: obstacle } : {};
  try {
    return isOpen
      ? { desiredNode: await environment.desiredNode?.(progress.facts) }
      : await compareWithDesired(desired, environment, progress.facts);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    context.log.debug({ code: error.code, why: error.message }, 'node not compared');
    const conflict = error.code === 'TALOS_FOREIGN_NODE' ? { addressConflict: error.message } : {};
    return { ...conflict, ...(isOpen ? { updateObstacle: error.message } : {}) };
  }
}

async function observeExternalNode(
  { machine, context, nodes }: DesiredMachine,
  facts: Facts,
): Promise<NodeObservation> {
  const node = nodes.open(String(facts['address']));
  try {
    return { running: await readRunningVersions(node, machine.spec.role, context) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    return {};
  }
}

async function compareWithDesired(
  desired: DesiredMachine,
  environment: StepEnvironment,
  facts: Facts,
): Promise<NodeObservation> {
  const known = comparedMachinesOf(desired.services);
  const hardware = await environment.compareHardware?.(facts);
  const inputs = hashConfigSources(desired, environment.spec, { facts, hardware });
  if (!environment.desiredNode || known.isUpToDate(desired.machine, inputs)) return {};
  const spec = hashOfComparison(desired, environment.spec);
  const desiredNode = await environment.desiredNode(facts);
  // Rendered in between, with the authorities of before or after.
  const isSame = spec === hashOfComparison(desired, environment.spec);
  const compared = await compareWithNode(desired, environment, { desiredNode, spec: isSame ? spec : undefined }, facts);
  const found = hardware ? withHardware(compared, hardware) : compared;
  const configuration = withoutImpossible(desired, environment.spec, found);
  const isUpToDate = configuration.spec !== undefined && classOfChange(configuration) === undefined;
  if (isUpToDate) known.recordUpToDate(desired.machine, inputs);
  return { desiredNode, configuration };
}

function findObstacle(desired: DesiredMachine): string | undefined {
  const { services, machine } = desired;
  const { name } = machine.spec.providerConfigRef;
  if (!isConfigAccepted(services.stores.providerConfigs.get({ name })))
    return `ProviderConfig ${name} is not accepted. See its conditions.`;
  return isTrustPending(desired) ? 'The OIDC issuers of the control planes are being changed.' : undefined;
}

/** Identifies what the node is compared with at this moment. */
function hashOfComparison({ services, machine }: DesiredMachine, spec: ProviderConfigSpec): string {
  const state = findSecretsState(services, clusterOfMachine(machine));
  return hashComparison(spec, services.release, state?.kind === 'usable' ? state.secrets : undefined);
}

async function compareWithNode(
  { services, machine, context, nodes }: DesiredMachine,
  { spec, platform }: StepEnvironment,
  { desiredNode, spec: hash }: { readonly desiredNode: DesiredNode; readonly spec: string | undefined },
  facts: Facts,
): Promise<ConfigurationState> {
  const node = nodes.open(String(facts['address']));
  const known = comparedMachinesOf(services);
  const compared = await compareNode(node, desiredNode, machine.spec.role, context, known.former(machine));
  known.record(machine, compared);
  const followsSize = platform.hardware !== undefined;
  const follows = Object.keys(findSpecChange(machine, { spec, followsSize })).length === 0;
  return { ...compared.found, revision: desiredNode.revision, spec: follows ? hash : undefined };
}

/** The hardware that its platform shows, and its differences, belong to the node. */
const withHardware = (state: ConfigurationState, { running, changes }: HardwareComparison): ConfigurationState => ({
  ...state,
  running: { ...state.running, hardware: running },
  changes: [...state.changes, ...changes],
});

/** A replacement that would end the cluster is refused. */
function withoutImpossible(
  { services, machine }: DesiredMachine,
  spec: ProviderConfigSpec,
  state: ConfigurationState,
): ConfigurationState {
  if (classOfChange(state) !== 'replace') return state;
  const secrets = findSecretsState(services, clusterOfMachine(machine));
  const recorded = secrets?.kind === 'usable' ? secrets.secrets.endpoint : undefined;
  const endpoint = machine.spec.endpoint ?? recorded;
  const problem = findReplacementProblem({ machine, spec, address: machine.status?.address ?? '', endpoint });
  return problem === undefined ? state : { ...state, rejection: problem };
}

/** The rollout of OIDC trust edits the configuration in place, and may take the edit back. */
function isTrustPending({ services, machine }: DesiredMachine): boolean {
  if (machine.spec.role !== 'controlplane') return false;
  const state = findSecretsState(services, clusterOfMachine(machine));
  const record = state?.kind === 'usable' ? state.secrets.trust : undefined;
  return record !== undefined && machine.status?.trust !== hashTrustRecord(record);
}
