import { Cron } from 'croner';

/** When backups are due: five fields of cron in a time zone. */
export interface BackupSchedule {
  readonly schedule: string;
  readonly timeZone: string;
}

/** The first time of the schedule after `after`; undefined if there is none. Throws for an invalid schedule. */
export function findNextTime({ schedule, timeZone }: BackupSchedule, after: Date): Date | undefined {
  const cron = new Cron(schedule, { mode: '5-part', timezone: timeZone, paused: true });
  return cron.nextRun(after) ?? undefined;
}

/** Why a schedule cannot be used, as a sentence; undefined if it can. The time zone must exist. */
export function findScheduleProblem(schedule: BackupSchedule, now: Date): string | undefined {
  try {
    return findNextTime(schedule, now) ? undefined : `${schedule.schedule} never occurs.`;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'it cannot be read';
    return `${schedule.schedule} is no schedule of cron: ${why}.`;
  }
}
