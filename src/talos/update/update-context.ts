import type { HardwareComparison } from '../../engine/capabilities/hardware.ts';
import { type Facts, returnToStep, type Step, type StepOutcome } from '../../engine/step.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { RunningVersions } from '../client/running-versions.ts';
import type { ConfigChange } from '../config/compare/config-changes.ts';
import type { TalosStepContext } from '../join-steps.ts';

/** What a running node is to be. */
export interface DesiredNode {
  /** Identifies the machine. */
  readonly providerId: string;
  readonly configuration: SecretString;
  /** Hash of the configuration, which contains the versions, and of the desired hardware. */
  readonly revision: string;
  readonly talosVersion: string;
  /** The id of the schematic, as the image factory has given it. */
  readonly schematic: string;
  /** The installer of version and schematic. */
  readonly installer: string;
  /** Desired version of the kubelet. */
  readonly kubernetesVersion: string;
}

/** Whether the Pods have left a node, or what is waited for. */
export type DrainProgress =
  | { readonly kind: 'drained' }
  | { readonly kind: 'waiting'; readonly reason: string; readonly message: string };

/** Whether another control plane holds the virtual address, if there is one, or what is waited for. */
export type AddressMove = { readonly kind: 'moved' } | { readonly kind: 'waiting'; readonly message: string };

/** How a running node differs from what it is to be. */
export interface NodeChanges {
  readonly running: RunningVersions;
  readonly changes: readonly ConfigChange[];
  /** Why the change cannot be made, with the remedy and without secrets. */
  readonly rejection?: string;
}

/** The parts of the context that the update of a running node needs beside those of every step. */
export interface UpdateStepContext extends TalosStepContext {
  readonly desired: DesiredNode;
  /** How node and hardware differ, if that was found a moment ago and no step has changed anything since. */
  readonly compared?: NodeChanges | undefined;
  /** It is the only node of its cluster, so that nothing can take over its work. */
  readonly isOnlyNode: boolean;
  /** Cordons the node and lets its Pods move, in short passes. */
  drain(startedAt: Date): Promise<DrainProgress>;
  /** Undoes the cordon of {@link drain}, and no other. */
  uncordon(): Promise<DrainProgress>;
  /** Lets another control plane take the virtual address of the API server, in short passes. */
  moveVirtualAddress(): Promise<AddressMove>;
  /** Whether a user has approved to go on in spite of this reason. The approval is used up. */
  takeApproval(reason: string): Promise<boolean>;
  /** Absent if the platform cannot change the hardware of a machine. */
  compareHardware?(): Promise<HardwareComparison>;
  /** Why the node is not a healthy member of its cluster; undefined if it is. */
  findProblem(): Promise<string | undefined>;
}

/** What the steps of an update record. Cleared values are empty, since facts are only ever added. */
export const updateFacts = {
  /** The revision that the update leads to. Empty: no update is in hand. */
  revision: 'updateRevision',
  /** Whether the node will restart or its kubelet is exchanged for another minor, so that its Pods have to leave. */
  disrupts: 'updateDisrupts',
  /** Whether the API server of this control plane restarts. */
  restartsApi: 'updateRestartsApi',
  /** Whether the kubelet restarts, although the node does not. */
  restartsKubelet: 'updateRestartsKubelet',
  /** What `describeKubelet` says before it does. */
  kubeletBefore: 'updateKubeletBefore',
  /** Whether kube-controller-manager or kube-scheduler of this control plane restarts, although the node does not. */
  restartsControllers: 'updateRestartsControllers',
  /** RFC 3339; when the configuration of a node was seen to be active for which only components restart. */
  activeSince: 'updateActiveSince',
  /** Whether the machine gets other hardware. */
  hardware: 'updateHardware',
  /** The boot before the machine is switched off for that. Not empty: it may be off, and its node need not answer. */
  hardwareBoot: 'updateHardwareBoot',
  /** Whether the node gets another system, or has got one in the other boot slot. */
  changesSystem: 'updateChangesSystem',
  /** Whether the node may lack an image that it is going to run. */
  needsImages: 'updateNeedsImages',
  /** RFC 3339; when the virtual address began to move. */
  addressSince: 'updateAddressSince',
  /** RFC 3339; when the drain began. */
  drainSince: 'updateDrainSince',
  /** Version and schematic that the other boot slot was to get. */
  system: 'updateSystem',
  /** The boot in which that was asked for. Another boot with the former system is a fallback. */
  systemBoot: 'updateSystemBoot',
  /** The value of `system` once it was written. */
  systemWritten: 'updateSystemWritten',
  /** RFC 3339; when a node with Talos before 1.13 was last told to upgrade. */
  systemCalledAt: 'updateSystemCalledAt',
  /** The boot in which a configuration was stored that takes effect with the next one. */
  staleBoot: 'updateStaleBoot',
} as const;

export const readFact = (facts: Facts, name: string): string => String(facts[name] ?? '');

/** Whether the steps of an update have begun and are not finished. A repair may have come between them. */
export const isUpdateOpen = (
  progress: { readonly plan: string; readonly facts: Readonly<Record<string, unknown>> } | undefined,
): boolean => progress?.plan === 'update' || (progress?.facts[updateFacts.revision] ?? '') !== '';

/** What a boot slot is to get, as one text. */
export const targetOf = ({ talosVersion, schematic }: DesiredNode): string => `${talosVersion}/${schematic}`;

/**
 * Whether the next start would boot a system that is no longer desired: in this boot the other slot was to get it, and the
 * desired one was not written since.
 */
export function hasUnwantedSystem(facts: Facts, desired: DesiredNode, bootId: string): boolean {
  const asked = readFact(facts, updateFacts.system);
  if (asked === '' || readFact(facts, updateFacts.systemBoot) !== bootId) return false;
  return asked !== targetOf(desired) || readFact(facts, updateFacts.systemWritten) !== asked;
}

export const firstUpdateStep = 'changes-assessed';
export const applyStepName = 'configuration-applied';

/** Nothing on the node restarts, and no Pod has to leave it. */
export const isUndisturbed = (facts: Facts): boolean =>
  facts[updateFacts.disrupts] === false && readFact(facts, updateFacts.drainSince) === '';

/** The node stays up, and some of its components restart. */
export const restartsComponents = (facts: Facts): boolean =>
  facts[updateFacts.disrupts] === false &&
  [updateFacts.restartsApi, updateFacts.restartsKubelet, updateFacts.restartsControllers].some(
    (name) => facts[name] === true,
  );

/** A changed desired state begins at the first step again, where each step looks what is there. */
export const restartingOnChange = (step: Step<UpdateStepContext>): Step<UpdateStepContext> => ({
  ...step,
  run: async (context): Promise<StepOutcome> =>
    readFact(context.facts, updateFacts.revision) === context.desired.revision
      ? await step.run(context)
      : returnToStep(firstUpdateStep, 1, 'The desired state has changed meanwhile.'),
});

/** Forgets an upgrade that the node has undone, so that it is tried again. */
export const forgottenSystemFacts: Facts = {
  [updateFacts.system]: '',
  [updateFacts.systemBoot]: '',
  [updateFacts.systemWritten]: '',
};

/** Found anew by the first step of each update. */
const assessedFacts: readonly string[] = [
  updateFacts.disrupts,
  updateFacts.restartsApi,
  updateFacts.restartsKubelet,
  updateFacts.restartsControllers,
  updateFacts.changesSystem,
  updateFacts.needsImages,
  updateFacts.hardware,
];

/** Forgets everything that was recorded of an update, so that the next attempt has nothing to compare with. */
export const clearedUpdateFacts: Facts = Object.fromEntries(
  Object.values(updateFacts)
    .filter((name) => !assessedFacts.includes(name))
    .map((name) => [name, '']),
);
