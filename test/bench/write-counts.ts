import { setTimeout as pause } from 'node:timers/promises';
import { infrastructureWrites, providerWrites, workloadWrites } from '../e2e/support/observation/provider-calls.ts';
import type { Testbed } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';
import type { Measurement } from './measurement.ts';

/** The number of writes so far. */
export type WriteCounter = () => number | Promise<number>;

/** Starts to count the provider's writes to all simulators. Real API servers do not report them. */
export function countProviderWrites(testbed: Testbed): () => number {
  const start = testbed.calls.length;
  return () => {
    const calls = testbed.calls.slice(start);
    return [...providerWrites(calls), ...workloadWrites(calls), ...infrastructureWrites(calls)].length;
  };
}

/** Waits until nothing has been written for ten seconds, so that earlier changes do not count. */
export async function awaitNoWrites(writes: WriteCounter): Promise<void> {
  const isQuiet = async (): Promise<boolean> => {
    const before = await writes();
    await pause(10_000);
    return (await writes()) === before;
  };
  await eventually('it is idle', isQuiet, 300);
}

export const zeroMeasurement = (what: string, writes: number): Measurement => ({
  what,
  measured: `${writes}`,
  goal: '0',
  reached: writes === 0,
});
