import { done, type Facts, fail, returnToStep, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { type RunningVersions, readRunningSystem } from '../client/running-versions.ts';
import { callNode } from '../join-steps.ts';
import { isAtLeastMinor } from '../versions.ts';
import { hasDesiredSystem } from './compare-node.ts';
import { pullImage } from './pull-images.ts';
import {
  type DesiredNode,
  forgottenSystemFacts,
  hasUnwantedSystem,
  readFact,
  targetOf,
  type UpdateStepContext,
  updateFacts,
} from './update-context.ts';

const pollSeconds = 3;
/** A node with Talos before 1.13 that still runs after this time has not begun its upgrade, or has given it up. */
const legacyStartSeconds = 180;

/** The system and the boot of a node, as seen just now. */
interface SystemState {
  readonly running: Pick<RunningVersions, 'talosVersion' | 'schematic'>;
  readonly bootId: string;
  readonly isDesired: boolean;
  /** The boot slot was to get the desired system in this boot. */
  readonly isAsked: boolean;
  /** The slot got it in an earlier boot, and yet the node runs another system. */
  readonly hasFallenBack: boolean;
}

async function readSystem(
  client: TalosClient,
  { desired, facts }: UpdateStepContext,
  options: TalosCallOptions,
): Promise<SystemState> {
  const running = await readRunningSystem(client, options);
  const bootId = await client.bootId(options);
  const isDesired = hasDesiredSystem(running, desired);
  const isTarget = readFact(facts, updateFacts.system) === targetOf(desired);
  const isSameBoot = readFact(facts, updateFacts.systemBoot) === bootId;
  // A restart for a former target may come between the intent and the write. One call of an older Talos does both.
  const wasWritten = isLegacy(running, desired) || readFact(facts, updateFacts.systemWritten) === targetOf(desired);
  return {
    ...{ running, bootId, isDesired },
    isAsked: isTarget && isSameBoot,
    hasFallenBack: isTarget && wasWritten && !isSameBoot && !isDesired,
  };
}

const isNeeded = (facts: Facts): boolean => facts[updateFacts.changesSystem] !== false;

/** Talos before 1.13 has one call that does everything, and no other can write such a version. */
const isLegacy = ({ talosVersion }: SystemState['running'], desired: DesiredNode): boolean =>
  ![talosVersion, desired.talosVersion].every((version) => isAtLeastMinor(version, '1.13'));

const describeFallback = ({ running }: SystemState, desired: DesiredNode): StepOutcome => {
  const wanted =
    running.talosVersion === desired.talosVersion ? 'its new extensions or arguments' : desired.talosVersion;
  return fail(
    'UpgradeFellBack',
    `The node did not start with Talos ${wanted} and has gone back to ${running.talosVersion}. It is not tried again by itself. See the console of the machine; change talos.version or talos.extensions, or set the annotation approve: UpgradeFellBack on the Machine, or rollout: retry on the Cluster, to try again.`,
  );
};

/** A user has approved another attempt. */
const tryAgain = (): StepOutcome =>
  returnToStep(upgradeStep.name, 1, 'The upgrade is tried again, as approved.', forgottenSystemFacts);

async function afterFallback(context: UpdateStepContext, state: SystemState): Promise<StepOutcome> {
  return (await context.takeApproval('UpgradeFellBack')) ? tryAgain() : describeFallback(state, context.desired);
}

/**
 * Done when the boot slot for the next start has the desired system. The intent and the boot are recorded before the call:
 * without them an upgrade that the node has undone by itself could not be told from one that was never tried.
 */
const upgradeStep: Step<UpdateStepContext> = {
  name: 'system-upgraded',
  deadlineMinutes: 30,
  isNeeded,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const state = await readSystem(client, context, options);
      if (state.hasFallenBack) return await afterFallback(context, state);
      const isUnwanted = hasUnwantedSystem(context.facts, context.desired, state.bootId);
      if (state.isDesired && !isUnwanted) return done();
      if (isLegacy(state.running, context.desired)) return await upgradeLegacy(client, context, state, options);
      return await writeSystem(client, context, state, options);
    }),
};

async function writeSystem(
  client: TalosClient,
  { desired, facts }: UpdateStepContext,
  { isAsked, bootId, running: { talosVersion } }: SystemState,
  options: TalosCallOptions,
): Promise<StepOutcome> {
  const target = targetOf(desired);
  if (isAsked && readFact(facts, updateFacts.systemWritten) === target) return done();
  if (!isAsked) return wait(1, 'The upgrade of Talos begins.', askedFacts(target, bootId));
  // Pulled before; this finds its name, or pulls it again if the node has removed it meanwhile.
  const image = await pullImage({ client, talosVersion, options }, desired.installer, 'system');
  const result = await client.writeSystem(image, options);
  if (result.kind === 'written') return done({ [updateFacts.systemWritten]: target });
  if (result.isPermanent) return fail('UpgradeRejected', result.message);
  throw new ProviderError('TALOS_UPGRADE_FAILED', result.message);
}

const askedFacts = (target: string, bootId: string): Facts => ({
  [updateFacts.system]: target,
  [updateFacts.systemBoot]: bootId,
  [updateFacts.systemWritten]: '',
  [updateFacts.systemCalledAt]: '',
});

/** The call returns when the node begins. What follows is seen in its stage, and at the end in its boot. */
async function upgradeLegacy(
  client: TalosClient,
  { desired, facts, clock }: UpdateStepContext,
  { isAsked, isDesired, bootId }: SystemState,
  options: TalosCallOptions,
): Promise<StepOutcome> {
  const { stage } = await client.machineStatus(options);
  if (stage !== 'running' && stage !== 'booting') return wait(pollSeconds, `The node is ${stage}.`);
  // An earlier call for another system has not begun, and this node writes a system only in order to boot it.
  if (isDesired) return done();
  if (!isAsked) return wait(1, 'The upgrade of Talos begins.', askedFacts(targetOf(desired), bootId));
  const calledAt = Date.parse(readFact(facts, updateFacts.systemCalledAt));
  const elapsed = (clock.now().getTime() - calledAt) / 1000;
  if (elapsed < legacyStartSeconds) return done();
  await client.upgradeLegacy(desired.installer, options);
  return wait(pollSeconds, 'The node upgrades itself.', { [updateFacts.systemCalledAt]: clock.now().toISOString() });
}

/** Done when the node has started again since the slot was written, with whatever system. */
const rebootStep: Step<UpdateStepContext> = {
  name: 'system-rebooted',
  deadlineMinutes: 20,
  isNeeded,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const state = await readSystem(client, context, options);
      if (state.isDesired || !state.isAsked) return done();
      const { stage } = await client.machineStatus(options);
      if (stage !== 'running' && stage !== 'booting') return wait(pollSeconds, `The node is ${stage}.`);
      if (isLegacy(state.running, context.desired)) return awaitLegacyReboot(context);
      // Through the firmware, since the kernel of the former system would have to start the one of the new system.
      await client.reboot('firmware', options);
      return wait(pollSeconds, 'The node restarts with its new system.');
    }),
};

/** A node that has given up its upgrade gets the call again. */
function awaitLegacyReboot({ facts, clock }: UpdateStepContext): StepOutcome {
  const calledAt = Date.parse(readFact(facts, updateFacts.systemCalledAt));
  const elapsed = (clock.now().getTime() - calledAt) / 1000;
  if (elapsed < legacyStartSeconds) return wait(pollSeconds, 'The node prepares its upgrade.');
  return returnToStep(upgradeStep.name, pollSeconds, 'The node has not begun its upgrade, and gets the call again.');
}

/** Done when the node reports the desired version and schematic. A node that reports others has fallen back. */
const proofStep: Step<UpdateStepContext> = {
  name: 'system-proven',
  deadlineMinutes: 20,
  isNeeded,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const state = await readSystem(client, context, options);
      if (state.isDesired) return done();
      if (state.hasFallenBack) return await afterFallback(context, state);
      return returnToStep(upgradeStep.name, 1, 'The node does not have its new system yet.');
    }),
};

/** The steps that bring a node to another version or schematic of Talos. */
export const systemSteps: readonly Step<UpdateStepContext>[] = [upgradeStep, rebootStep, proofStep].map((step) => ({
  ...step,
  isNeeded: (facts) => facts[updateFacts.changesSystem] !== false,
}));
