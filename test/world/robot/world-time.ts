import type { ScaledClock } from '../scaled-clock.ts';

interface TimeContext {
  readonly clock: ScaledClock;
  readonly startedAt: Date;
  readonly signal: AbortSignal;
}

/** Seconds of the world since the room was started. */
export const worldSeconds = ({ clock, startedAt }: Omit<TimeContext, 'signal'>): number =>
  (clock.now().getTime() - startedAt.getTime()) / 1000 / clock.scale;

/** Runs something after a while, unless the room is closed by then. */
export function runLater({ clock, signal }: Omit<TimeContext, 'startedAt'>, seconds: number, task: () => void): void {
  clock.sleep(seconds, signal).then(task, () => {
    // The room has closed: nobody is there to see it.
  });
}

/** `2030-11-02 09:15:41`. */
export const formatTimestamp = (date: Date): string => date.toISOString().slice(0, 19).replace('T', ' ');
