import { z } from 'zod';
import { done, type Step, type StepOutcome, waitWithReason } from '../../../../engine/step.ts';
import { retryPolicyOf } from '../../../../lib/errors.ts';
import { Pool } from '../../api/schema.ts';
import { diskSpaceReservationsOf } from '../../capacity/choose-pool.ts';
import { MemoryReservations } from '../../capacity/memory-reservations.ts';
import type { ReservationTable } from '../../capacity/reservation-table.ts';
import { waitForDiskSpace } from '../../capacity/reserve-disk-space.ts';
import { systemEndpointOf } from '../../config/config.ts';
import { vmIdentityOf } from '../../resources/identity.ts';
import {
  getVmSize,
  type MachineScope,
  machineScopeOf,
  type TrueNasRemovalContext,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';

const mebibyte = 2 ** 20;
const gibibyte = 2 ** 30;

/**
 * Before: the machine has an address and the image. After: disk space and memory are reserved for it, so that nothing
 * is created that could not be started. While one of them is short, the other is not held. Done also when the machine
 * runs already. Reservations do not survive the process: later steps renew them.
 */
export const resourcesReserved: Step<TrueNasStepContext> = {
  name: 'resources-reserved',
  formerNames: ['memory-reserved'],
  async run(context) {
    if (context.facts['started'] === true) return done();
    const short = (await waitForDiskSpace(context)) ?? (await waitForMemory(context, getVmSize(context).memoryMiB));
    if (short) cancelReservations(context);
    return short ?? done();
  },
};

/** Undefined once the memory is reserved; else a wait with its reason. `takes`: the end of the sentence that names it. */
export async function waitForMemory(
  context: TrueNasStepContext,
  memoryMiB: number,
  takes = (amount: string): string => `this machine takes ${amount}`,
): Promise<StepOutcome | undefined> {
  const system = machineScopeOf(context);
  const { nas, identity, signal } = system;
  await memoryReservationsOf(context).checkLimit(systemEndpointOf(context.config).socketUrl, () =>
    readPoolGuids(system, signal),
  );
  // In bytes, while sizes are in MiB. Without overcommitment, as in the start of the machine.
  const ask = () =>
    nas.read('vm.get_available_memory', [false], z.number(), { signal: context.connections.signal, seconds: 30 });
  const bytes = memoryMiB * mebibyte;
  const answer = await memoryTableOf(context).hold(identity.uuid, { takes: bytes }, ask, signal);
  if (answer.reserved) return undefined;
  const left = formatGiB(Math.max(0, answer.left));
  return waitWithReason(
    'InsufficientMemory',
    30,
    `${nas.host} can guarantee ${left} of memory, without the reservations of machines in creation, and ${takes(formatGiB(bytes))}. Reduce the memory of the size, or stop other virtual machines. The step continues when there is enough memory.`,
  );
}

const formatGiB = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;

/** One table for each system, whatever key is used. */
export const memoryTableOf = (context: TrueNasRemovalContext): ReservationTable =>
  memoryReservationsOf(context).of(systemEndpointOf(context.config).socketUrl);

const memoryReservationsOf = ({ connections, clock }: TrueNasRemovalContext): MemoryReservations =>
  connections.get('truenas-memory', () => new MemoryReservations(clock));

/** Identifies a system by its pools: ZFS gives each a unique and permanent guid. */
async function readPoolGuids({ nas }: MachineScope, signal: AbortSignal): Promise<string> {
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return pools
    .flatMap(({ guid }) => guid ?? [])
    .sort()
    .join(' ');
}

function cancelReservations(context: TrueNasStepContext): void {
  const { uuid } = vmIdentityOf(context);
  memoryTableOf(context).cancel(uuid);
  diskSpaceReservationsOf(context).cancel(uuid);
}

/** Cancels the reservations of a machine that waits for a user. It reserves again before it goes on. */
export function cancelReservationsWhenStuck(step: Step<TrueNasStepContext>): Step<TrueNasStepContext> {
  const run = async (context: TrueNasStepContext): Promise<StepOutcome> => {
    try {
      const outcome = await step.run(context);
      if (outcome.kind === 'fail') cancelReservations(context);
      return outcome;
    } catch (error) {
      if (retryPolicyOf(error) === 'after-change') cancelReservations(context);
      throw error;
    }
  };
  return { ...step, run };
}
