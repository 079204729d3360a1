import type { HardwareCapability } from '../../engine/capabilities/hardware.ts';
import { done, fail, type Step, type StepOutcome, wait, waitWithReason } from '../../engine/step.ts';
import { callNode, describeNodeStatus, isClusterMember } from '../join-steps.ts';
import { assessUpdate } from './assess-update.ts';
import { findRestartProblem } from './component-restarts.ts';
import { configurationSteps } from './configuration-steps.ts';
import { admissionSteps, hardwareSteps, unlessOff } from './hardware-steps.ts';
import { leadershipStep } from './leadership-step.ts';
import { pullImages } from './pull-images.ts';
import { systemSteps } from './system-steps.ts';
import {
  clearedUpdateFacts,
  firstUpdateStep,
  isUndisturbed,
  isUpdateOpen,
  readFact,
  restartingOnChange,
  type UpdateStepContext,
  updateFacts,
} from './update-context.ts';
import { virtualAddressStep } from './virtual-address-step.ts';

export { isUpdateOpen, type UpdateStepContext };

const pollSeconds = 2;
const blockedPollSeconds = 5;

/** Finds out what the change needs. From here on the update is in hand until its last step. */
const assessStep: Step<UpdateStepContext> = {
  name: firstUpdateStep,
  deadlineMinutes: 10,
  readsOnly: () => true,
  run: (context) =>
    callNode(context, async (client, options) => {
      const assessed = await assessUpdate(client, context, options);
      if ('rejection' in assessed) return fail('ChangeRefused', assessed.rejection);
      return done(assessed.facts);
    }),
};

/** Images first: a node that cannot get them has not been disturbed. */
const pullStep: Step<UpdateStepContext> = {
  name: 'images-pulled',
  deadlineMinutes: 20,
  isNeeded: (facts) => facts[updateFacts.needsImages] !== false,
  run: (context) =>
    callNode(context, async (client, options) => {
      await pullImages(client, context, options);
      return done();
    }),
};

/** Done when the Pods have left the node. */
const drainStep: Step<UpdateStepContext> = {
  name: 'node-drained',
  deadlineMinutes: 60,
  isNeeded: (facts) => facts[updateFacts.disrupts] === true,
  run: async (context): Promise<StepOutcome> => {
    const { facts, clock, isOnlyNode } = context;
    // The Pods of the only node of a cluster have nowhere to go: they would be missing for longer, and a
    // PodDisruptionBudget would hold up the update for ever.
    if (isOnlyNode) return done();
    const since = readFact(facts, updateFacts.drainSince);
    if (since === '')
      return wait(0, 'The drain of the node begins.', { [updateFacts.drainSince]: clock.now().toISOString() });
    const result = await context.drain(new Date(since));
    if (result.kind === 'drained' || (await context.takeApproval(result.reason))) return done();
    const seconds = result.reason === 'Draining' ? pollSeconds : blockedPollSeconds;
    return waitWithReason(result.reason, seconds, result.message);
  },
};

/** Done when the node is a healthy member of its cluster. */
const healthStep: Step<UpdateStepContext> = {
  name: 'node-healthy',
  deadlineMinutes: 20,
  readsOnly: isUndisturbed,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const restart = await findRestartProblem(client, context, options);
      if (restart !== undefined) return wait(pollSeconds, restart);
      const status = await client.machineStatus(options);
      if (!isClusterMember(status)) return wait(pollSeconds, describeNodeStatus(status));
      const problem = await context.findProblem();
      return problem === undefined ? done() : wait(pollSeconds, problem);
    }),
};

/** Ends the update. A cordon that was there before stays. */
const uncordonStep: Step<UpdateStepContext> = {
  name: 'node-uncordoned',
  deadlineMinutes: 10,
  readsOnly: isUndisturbed,
  run: async (context): Promise<StepOutcome> => {
    // It was not cordoned by this update, nor by one that was given up for it.
    if (isUndisturbed(context.facts)) return done(clearedUpdateFacts);
    const result = await context.uncordon();
    if (result.kind === 'waiting') return wait(pollSeconds, result.message);
    return done(clearedUpdateFacts);
  },
};

/**
 * The steps that bring a running node to its desired configuration, system and hardware. One plan for every kind of change,
 * so that several changes share one drain: each step finds out whether it is needed. An interrupted one continues where it
 * was, and one whose desired state changes begins again at the first step. `hardware`: that of the platform, if its machines
 * can get another one.
 */
export const updateStepsOf = (hardware: HardwareCapability | undefined): readonly Step<UpdateStepContext>[] => [
  unlessOff(assessStep),
  ...[pullStep, ...admissionSteps(hardware), drainStep, leadershipStep, virtualAddressStep]
    .map(restartingOnChange)
    .map(unlessOff),
  ...hardwareSteps(hardware),
  ...[...systemSteps, ...configurationSteps, healthStep, uncordonStep].map(restartingOnChange),
];
