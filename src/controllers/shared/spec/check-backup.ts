import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { isRecipient } from '../../../backup/encrypt.ts';
import { findScheduleProblem } from '../../../backup/schedule.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { checkTimeZone } from './check-rollout.ts';
import { invalidField } from './invalid-field.ts';

/** A schedule that occurs at all occurs within the four years after this. */
const anyTime = new Date('2025-01-01T00:00:00Z');

/** What the schema cannot know: whether the schedule ever occurs, the time zones, and the checksums of public keys. */
export function checkBackup({ backup }: ProviderConfigSpec): Diagnostic[] {
  if (!backup) return [];
  const zone = checkTimeZone('backup.timeZone', backup.timeZone);
  const problem = zone.length > 0 ? undefined : findScheduleProblem(backup, anyTime);
  const remedy = 'Use minute, hour, day of the month, month and day of the week, e.g. 30 2 * * *.';
  return [
    ...zone,
    ...(problem === undefined ? [] : [invalidField('backup.schedule', `${problem} ${remedy}`)]),
    ...backup.recipients.flatMap((recipient, i) =>
      isRecipient(recipient)
        ? []
        : [
            invalidField(
              `backup.recipients[${i}]`,
              `${recipient} is no public key of age. Use the one that age-keygen has printed.`,
            ),
          ],
    ),
  ];
}
