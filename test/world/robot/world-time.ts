import type { ScaledClock } from '../scaled-clock.ts';

interface TimeContext {
  readonly clock: ScaledClock;
  readonly startedAt: Date;
  readonly signal: AbortSignal;
}

/** Simulated seconds since the start of the simulator. */
export const worldSeconds = ({ clock, startedAt }: Omit<TimeContext, 'signal'>): number =>
  (clock.now().getTime() - startedAt.getTime()) / 1000 / clock.scale;

/** Runs a callback after a delay, unless the simulator is closed by then. */
export function runLater({ clock, signal }: Omit<TimeContext, 'startedAt'>, seconds: number, task: () => void): void {
  clock.sleep(seconds, signal).then(task, () => {
    // The simulator has closed: the callback is dropped.
  });
}

/** `2030-11-02 09:15:41`. */
export const formatTimestamp = (date: Date): string => date.toISOString().slice(0, 19).replace('T', ' ');
