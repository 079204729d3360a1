import { z } from 'zod';
import { done, type Outcome, type Step, waitFor } from '../../../engine/platform.ts';
import { retryOf } from '../../../lib/errors.ts';
import { roomOf } from '../choose-pool.ts';
import { endpointOf } from '../config.ts';
import { identityOf } from '../identity.ts';
import { MemoryBooks } from '../memory-books.ts';
import type { PromiseBook } from '../promise-book.ts';
import { Pool } from '../schema.ts';
import { type Context, type Removal, type System, sizeOf, systemOf } from '../system.ts';
import { waitForRoom } from './reserve-room.ts';

const mebibyte = 2 ** 20;
const gibibyte = 2 ** 30;

/**
 * Before: nothing but an address and the image. After: the room for its disks and its memory are promised to this machine, so that
 * nothing is made that could not be started. While one is short the other is for others. Done also when it runs already. The promise
 * lives in the process alone: later steps ask for it again.
 */
export const resourcesReserved: Step<Context> = {
  name: 'resources-reserved',
  formerly: ['memory-reserved'],
  async run(context) {
    if (context.facts['started'] === true) return done();
    const short = (await waitForRoom(context)) ?? (await waitForMemory(context, sizeOf(context).memoryMiB));
    if (short) letGo(context);
    return short ?? done();
  },
};

/** Undefined once the memory is promised to the machine; else how long to wait for it, in words. */
export async function waitForMemory(context: Context, memoryMiB: number): Promise<Outcome | undefined> {
  const system = systemOf(context);
  const { nas, identity, signal } = system;
  await booksOf(context).meet(endpointOf(context.config).socketUrl, () => whichSystem(system, signal));
  // In bytes, while machines are described in MiB. Without overcommitment, as the machine will be started.
  const ask = () =>
    nas.read('vm.get_available_memory', [false], z.number(), { signal: context.connections.signal, seconds: 30 });
  const bytes = memoryMiB * mebibyte;
  const answer = await memoryOf(context).hold(identity.uuid, { takes: bytes }, ask, signal);
  if (answer.held) return undefined;
  const left = inGiB(Math.max(0, answer.left));
  return waitFor(
    'MemoryShort',
    30,
    `${nas.host} can guarantee ${left} of memory beside what is promised to machines that are being made, and this one takes ${inGiB(bytes)}. Give its size less memory, or stop other virtual machines. It goes on by itself when there is enough.`,
  );
}

const inGiB = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;

/** The book of the system, whatever key it is spoken to with. */
export const memoryOf = (context: Removal): PromiseBook => booksOf(context).of(endpointOf(context.config).socketUrl);

const booksOf = ({ connections, clock }: Removal): MemoryBooks =>
  connections.get('truenas-memory', () => new MemoryBooks(clock));

/** By its pools: ZFS gives each a number that no other has, and that it keeps. */
async function whichSystem({ nas }: System, signal: AbortSignal): Promise<string> {
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return pools
    .flatMap(({ guid }) => guid ?? [])
    .sort()
    .join(' ');
}

function letGo(context: Context): void {
  const { uuid } = identityOf(context);
  memoryOf(context).abandon(uuid);
  roomOf(context).abandon(uuid);
}

/** Others may have what a machine was promised that waits for a person. It asks for it again before it takes it. */
export function letGoWhenStuck(step: Step<Context>): Step<Context> {
  const run = async (context: Context): Promise<Outcome> => {
    try {
      const outcome = await step.run(context);
      if (outcome.kind === 'fail') letGo(context);
      return outcome;
    } catch (error) {
      if (retryOf(error) === 'after-change') letGo(context);
      throw error;
    }
  };
  return { ...step, run };
}
