import type { ProcessUsage } from '../support/provider-process/controlled-provider.ts';
import { type Fleet, speed } from './fleet.ts';
import { Witness } from './invariants.ts';
import { describeStrike, type PlannedDay } from './schedule.ts';
import { listUnsettled } from './settled.ts';

/** One day, as it went. */
export interface SurvivedDay {
  readonly day: number;
  readonly strikes: readonly string[];
  /** Minutes of the world from the first event until every cluster was as it is wanted. */
  readonly minutes: number;
  readonly usage: ProcessUsage;
}

export const describeDay = ({ day, strikes, minutes, usage }: SurvivedDay): string =>
  `day ${day}: ${strikes.join('; ')}: ${minutes} min, ${usage.residentMiB} MiB, ${usage.handles} handles`;

/** The longest recovery that is waited for. */
const patienceMinutes = 240;

/** With `CHAOS_TRACE`, prints every ten seconds what keeps the fleet from being settled. */
async function traced<T>(fleet: Fleet, what: string, work: () => Promise<T>): Promise<T> {
  if (!process.env['CHAOS_TRACE']) return await work();
  const timer = setInterval(async () => {
    const unsettled = await listUnsettled(fleet).catch((error: unknown) => [String(error)]);
    process.stderr.write(`${new Date().toISOString()} ${what}\n${unsettled.join('\n')}\n`);
  }, 10_000);
  return await work().finally(() => clearInterval(timer));
}

/** Waits until the fleet has settled, and stays so for a minute. */
export async function untilSettled(fleet: Fleet, what: string, minutes = patienceMinutes): Promise<void> {
  let unsettled: string[] = [];
  const look = async (): Promise<boolean> => {
    unsettled = await listUnsettled(fleet);
    return unsettled.length === 0;
  };
  try {
    let calm = 0;
    const isCalm = async (): Promise<boolean> => {
      calm = (await look()) ? calm + 1 : 0;
      if (calm > 0) await fleet.minutes(0.5);
      return calm >= 3;
    };
    await traced(fleet, what, () => fleet.until(what, isCalm, minutes));
  } catch (error) {
    throw new Error(`${what}: not settled.\n${unsettled.join('\n')}`, { cause: error });
  }
}

/** Lets a day pass: its events at the same time, the recovery, and the proof that nothing was lost. */
async function surviveDay(fleet: Fleet, witness: Witness, { day, strikes }: PlannedDay): Promise<SurvivedDay> {
  const start = performance.now();
  const begin = () => Promise.all(strikes.map(({ event, target, number }) => event.strike(fleet, target, number)));
  await traced(fleet, `the events of day ${day}`, begin);
  for (const { event, target } of strikes)
    await fleet.until(
      `${event.name} (${target}) is done`,
      () => event.isDone?.(fleet, target) ?? true,
      patienceMinutes,
    );
  await untilSettled(fleet, `day ${day}`);
  const minutes = Math.round(((performance.now() - start) / 60_000) * speed);
  const violations = await witness.listViolations();
  if (violations.length > 0) throw new Error(`day ${day}: ${violations.join('\n')}`);
  await witness.mark(`day-${day}`);
  // Recorded calls and objects of the world would fill the memory of this process.
  fleet.testbed.world.switchboard.calls.splice(0);
  return { day, strikes: strikes.map(describeStrike), minutes, usage: await fleet.provider.usage() };
}

/** Lets all days pass, one after the other. */
export async function survive(
  fleet: Fleet,
  days: readonly PlannedDay[],
  onDay: (day: SurvivedDay) => void,
): Promise<void> {
  const witness = new Witness(fleet);
  await witness.begin();
  for (const planned of days) onDay(await surviveDay(fleet, witness, planned));
}
