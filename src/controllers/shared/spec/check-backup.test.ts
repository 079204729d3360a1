import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { BackupSchema } from '../../../api/schema/backup-schema.ts';
import { checkBackup } from './check-backup.ts';

const recipient = await identityToRecipient(await generateIdentity());
const s3 = { endpoint: 'https://s3.example.org', bucket: 'backups', credentialsRef: { name: 's3' } };
const check = (more: object) => {
  const backup = BackupSchema.parse({ schedule: '30 2 * * *', recipients: [recipient], s3, ...more });
  return checkBackup({ backup } as Parameters<typeof checkBackup>[0]).map(
    ({ field, message }) => `${field}: ${message}`,
  );
};

describe('spec.backup', () => {
  it.each(['30 2 * * *', '*/5 * * * *', '0 0 29 2 *', '0 6 * * MON-FRI', '0 0 1,15 JAN-JUN *'])(
    'may have the schedule %s',
    (schedule) => {
      expect(check({ schedule, timeZone: 'Europe/Berlin' })).toEqual([]);
    },
  );

  it.each([
    ['0 0 30 2 *', /^backup\.schedule: 0 0 30 2 \* never occurs\. Use minute, hour/],
    ['61 * * * *', /^backup\.schedule: 61 \* \* \* \* is no schedule of cron: .*minute: 61\. Use/],
    ['0 0 * * 8', /dayOfWeek/],
  ])('has no schedule %s', (schedule, message) => {
    expect(check({ schedule })).toEqual([expect.stringMatching(message)]);
  });

  it('names a time zone and a recipient that do not exist', () => {
    const wrong = `age1${'q'.repeat(58)}`;
    expect(check({ timeZone: 'Mars/Base', recipients: [recipient, wrong] })).toEqual([
      expect.stringMatching(/^backup\.timeZone: There is no time zone Mars\/Base\. Use/),
      expect.stringMatching(/^backup\.recipients\[1\]: age1q+ is no public key of age\. Use/),
    ]);
  });

  it.each([
    ['six fields', { schedule: '0 30 2 * * *' }],
    ['a nickname', { schedule: '@daily' }],
    ['plain http', { s3: { ...s3, endpoint: 'http://s3.example.org' } }],
    ['credentials in the URL', { s3: { ...s3, endpoint: 'https://me:secret@s3.example.org' } }],
    ['a prefix that leaves its folder', { s3: { ...s3, prefix: '../other' } }],
    ['a private key', { recipients: ['AGE-SECRET-KEY-1ABC'] }],
    ['no recipient', { recipients: [] }],
    ['nothing to keep', { keep: 0 }],
  ])('does not accept %s', (_, more) => {
    const given = { schedule: '30 2 * * *', recipients: [recipient], s3, ...more };
    expect(BackupSchema.safeParse(given).success).toBe(false);
  });
});
