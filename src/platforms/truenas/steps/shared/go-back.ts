import { fail, returnToStep, type Step, type StepOutcome } from '../../../../engine/step.ts';
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

/** An object that one step creates and later steps need. */
interface StepProduct {
  readonly createdBy: string;
  describe(context: TrueNasStepContext, system: MachineScope): string;
  exists(context: TrueNasStepContext, system: MachineScope): Promise<boolean>;
}

/** In the order of the steps. */
const stepProducts: readonly StepProduct[] = [
  {
    createdBy: 'image-cached',
    describe: (context) => `The boot image ${cachedImageOf(context).path} was changed or no longer exists`,
    exists: async (context, system) => {
      const { dataset, owner, path } = cachedImageOf(context);
      const noted = parseImageFacts(context.facts);
      if (!noted) return true;
      return (await isDataset(system, dataset, owner)) && isSameFileVersion(noted, await findFile(system, path));
    },
  },
  {
    createdBy: 'dataset-created',
    describe: (_, { identity }) => `The dataset ${identity.dataset} no longer exists`,
    exists: (_, system) => isDataset(system, system.identity.dataset),
  },
  {
    createdBy: 'disk-created',
    describe: (_, { identity }) => `The disk ${identity.zvol} no longer exists`,
    exists: (_, system) => isDataset(system, system.identity.zvol),
  },
  {
    createdBy: 'data-disks-created',
    describe: (context) => `One of the disks ${zvolsOf(context).join(', ')} no longer exists`,
    exists: async (context, system) => {
      for (const zvol of zvolsOf(context)) if (!(await isDataset(system, zvol))) return false;
      return true;
    },
  },
  {
    createdBy: 'seed-written',
    describe: (context) => `The seed ${getFact(context, 'seed')} no longer exists`,
    exists: async (context, system) => (await findFile(system, getFact(context, 'seed'))) !== undefined,
  },
  {
    createdBy: 'vm-created',
    describe: (_, { identity }) => `The virtual machine ${identity.vmName} no longer exists`,
    exists: async (_, system) => (await findVm(system)).own !== undefined,
  },
];

const zvolsOf = (context: TrueNasStepContext) => dataDisksOf(context).map(({ zvol }) => zvol);

const isDataset = async (system: MachineScope, id: string, owner = system.owner): Promise<boolean> =>
  (await findOwnDataset(system, id, owner)) !== undefined;

/** Error codes that TrueNAS uses, among others, for missing objects. */
const mayMeanMissing = (error: unknown): error is ProviderError =>
  hasCode(error, 'TRUENAS_NOT_FOUND', 'TRUENAS_REFUSED', 'TRUENAS_CALL_FAILED', 'TRUENAS_IMAGE_CHANGED');

/** How often missing objects are created again. After that a user has to find the cause. */
export const maxReturns = 3;

/**
 * Nothing is checked while calls succeed. When a call fails, this checks whether an object of an earlier step is
 * missing, and returns to that step. Nothing existing is replaced. For a member of a cluster, a user decides about a
 * missing object.
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

/** The same for a machine that runs or should run: undefined when nothing is missing. */
export async function goBackToMissing(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  const gone = await findMissing(context, undefined);
  return gone && (await goBackTo(context, gone));
}

/** The first missing object of a step before `name`, or of any step. */
async function findMissing(context: TrueNasStepContext, name: string | undefined): Promise<StepProduct | undefined> {
  const system = machineScopeOf(context);
  for (const part of stepProducts) {
    if (part.createdBy === name) return undefined;
    if (!(await part.exists(context, system))) return part;
  }
  return undefined;
}

async function goBackTo(context: TrueNasStepContext, { createdBy, describe }: StepProduct): Promise<StepOutcome> {
  const system = machineScopeOf(context);
  // Without its pools the object may still exist, and a new one would be a duplicate.
  const unproven = await failUnlessAbsenceProven(system, context.facts);
  if (unproven) return unproven;
  const what = describe(context, system);
  if (context.facts['joined'] === true) {
    return fail('PartGone', `${what}, and this node has joined its cluster. Delete the Machine to recreate it.`);
  }
  const returns = Number(context.facts['returns'] ?? 0);
  if (returns < maxReturns) {
    context.log.warn(
      { step: createdBy, returns: returns + 1 },
      'a created resource no longer exists and is created again',
    );
    return returnToStep(createdBy, 1, `${what}; it is created again.`, { returns: returns + 1 });
  }
  const often = `Resources of this machine were deleted or changed ${returns + 1} times during its creation`;
  return fail('PartGone', `${what}. ${often}. Find out the cause, then delete the Machine to recreate it.`);
}
