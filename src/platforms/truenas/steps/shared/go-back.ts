import { fail, returnToStep, type Step, type StepOutcome } from '../../../../engine/platform.ts';
import type { ProviderError } from '../../../../lib/errors.ts';
import { hasCode } from '../../errors.ts';
import { failUnlessAbsenceProven } from '../../resources/dataset/absence-proof.ts';
import { dataDisksOf } from '../../resources/disk/data-disks.ts';
import { cachedImageOf, isSameFileVersion, parseImageFacts } from '../../resources/image/cached-image.ts';
import {
  findFile,
  findOwnDataset,
  findVm,
  getFact,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';

/** Something that a step makes and later ones need. */
interface StepProduct {
  readonly madeBy: string;
  describe(context: TrueNasStepContext, system: MachineScope): string;
  isThere(context: TrueNasStepContext, system: MachineScope): Promise<boolean>;
}

/** In the order of the steps. */
const stepProducts: readonly StepProduct[] = [
  {
    madeBy: 'image-cached',
    describe: (context) => `The boot image ${cachedImageOf(context).path} is not the one that was there, or gone`,
    isThere: async (context, system) => {
      const { dataset, owner, path } = cachedImageOf(context);
      const noted = parseImageFacts(context.facts);
      if (!noted) return true;
      return (await isDataset(system, dataset, owner)) && isSameFileVersion(noted, await findFile(system, path));
    },
  },
  {
    madeBy: 'dataset-created',
    describe: (_, { identity }) => `The dataset ${identity.dataset} is gone`,
    isThere: (_, system) => isDataset(system, system.identity.dataset),
  },
  {
    madeBy: 'disk-created',
    describe: (_, { identity }) => `The disk ${identity.zvol} is gone`,
    isThere: (_, system) => isDataset(system, system.identity.zvol),
  },
  {
    madeBy: 'data-disks-created',
    describe: (context) => `One of the disks ${zvolsOf(context).join(', ')} is gone`,
    isThere: async (context, system) => {
      for (const zvol of zvolsOf(context)) if (!(await isDataset(system, zvol))) return false;
      return true;
    },
  },
  {
    madeBy: 'seed-written',
    describe: (context) => `The seed ${getFact(context, 'seed')} is gone`,
    isThere: async (context, system) => (await findFile(system, getFact(context, 'seed'))) !== undefined,
  },
  {
    madeBy: 'vm-created',
    describe: (_, { identity }) => `The virtual machine ${identity.vmName} is gone`,
    isThere: async (_, system) => (await findVm(system)).own !== undefined,
  },
];

const zvolsOf = (context: TrueNasStepContext) => dataDisksOf(context).map(({ zvol }) => zvol);

const isDataset = async (system: MachineScope, id: string, owner = system.owner): Promise<boolean> =>
  (await findOwnDataset(system, id, owner)) !== undefined;

/** What TrueNAS says, among other things, of what is not there any more. */
const mayMeanMissing = (error: unknown): error is ProviderError =>
  hasCode(error, 'TRUENAS_NOT_FOUND', 'TRUENAS_REFUSED', 'TRUENAS_CALL_FAILED', 'TRUENAS_IMAGE_CHANGED');

/** So often what is gone is made anew; after that somebody has to find out who deletes it. */
export const maxReturns = 3;

/**
 * Nothing is looked at as long as all goes well. When a call fails, this finds out whether something that an earlier step
 * had made is gone, and then goes back to that step. What is made anew replaces nothing: it is not there. What a member
 * of a cluster has lost is for people to decide.
 */
export function goBackWhenMissing(step: Step<TrueNasStepContext>): Step<TrueNasStepContext> {
  const run = async (context: TrueNasStepContext): Promise<StepOutcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      const gone = mayMeanMissing(error) ? await findMissing(context, step.name) : undefined;
      if (!gone) throw error;
      return await goBackTo(context, gone);
    }
  };
  return { ...step, run };
}

/** The same for a machine that runs or should: undefined when nothing is gone. */
export async function goBackToMissing(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  const gone = await findMissing(context, undefined);
  return gone && (await goBackTo(context, gone));
}

/** The first part that a step before `name`, or any, had made and that is not there. */
async function findMissing(context: TrueNasStepContext, name: string | undefined): Promise<StepProduct | undefined> {
  const system = machineScopeOf(context);
  for (const part of stepProducts) {
    if (part.madeBy === name) return undefined;
    if (!(await part.isThere(context, system))) return part;
  }
  return undefined;
}

async function goBackTo(context: TrueNasStepContext, { madeBy, describe }: StepProduct): Promise<StepOutcome> {
  const system = machineScopeOf(context);
  // Where its pools are not seen it is not gone, and what is made anew would be a second one.
  const unproven = await failUnlessAbsenceProven(system, context.facts);
  if (unproven) return unproven;
  const what = describe(context, system);
  if (context.facts['joined'] === true) {
    return fail('PartGone', `${what}, which this member needs. Delete the Machine to have it made anew.`);
  }
  const returns = Number(context.facts['returns'] ?? 0);
  if (returns < maxReturns) {
    context.log.warn({ step: madeBy, returns: returns + 1 }, 'something that was made is gone and made anew');
    return returnToStep(madeBy, 1, `${what}; it is made anew.`, { returns: returns + 1 });
  }
  const often = `Something of this machine was deleted or changed ${returns + 1} times while it was made`;
  return fail('PartGone', `${what}. ${often}. Find out who does that, then delete the Machine to have it made anew.`);
}
