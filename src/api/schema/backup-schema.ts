import { z } from 'zod';
import { caBundleSchema, credentialsRefSchema } from '../../engine/config-schemas.ts';
import { timeZoneSchema } from './spec-fields.ts';

/** Public keys of age, by the command line as well as by `spec.backup`. */
export const recipientPattern = /^age1[02-9ac-hj-np-z]+$/;
/** Characters of one. The API server compiles no pattern with so many repetitions. */
export const recipientLength = { min: 54, max: 4004 } as const;
export const maxRecipients = 16;

const Storage = z
  .strictObject({
    endpoint: z
      .string()
      .regex(/^https:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/)
      .max(512)
      .describe('URL of the S3 server, e.g. https://s3.example.org. The name of the bucket is appended to its path.'),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)
      .max(63)
      .describe('Name of an existing bucket.'),
    prefix: z
      .string()
      .regex(/^([A-Za-z0-9_-][A-Za-z0-9._-]*\/)*([A-Za-z0-9_-][A-Za-z0-9._-]*)?$/)
      .max(256)
      .default('')
      .describe('Beginning of the names of all objects, e.g. talos/prod. Default: none.'),
    region: z
      .string()
      .regex(/^[a-z0-9-]+$/)
      .max(64)
      .default('us-east-1')
      .describe('Region that requests are signed for. Servers without regions accept any. Default: us-east-1.'),
    credentialsRef: credentialsRefSchema(
      'Secret in the namespace of the provider with the keys accessKeyId and secretAccessKey.',
    ),
    caBundle: caBundleSchema('this server').optional(),
  })
  .describe('The S3 bucket for the backups.');
export type BackupStorageSpec = z.infer<typeof Storage>;

/** Where, when and for whom clusters are backed up. */
export const BackupSchema = z
  .strictObject({
    schedule: z
      .string()
      .regex(/^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$/)
      .max(128)
      .describe(
        'When, in the five fields of cron: minute, hour, day of the month, month, day of the week, e.g. 30 2 * * *. Each cluster begins up to five minutes later, so that not all begin at once.',
      ),
    timeZone: timeZoneSchema
      .default('UTC')
      .describe('Time zone of the schedule, of the IANA database, e.g. Europe/Berlin. Default: UTC.'),
    keep: z
      .int()
      .min(1)
      .max(1000)
      .default(7)
      .describe(
        'Number of complete backups of each cluster that are kept. Older ones are deleted after a newer one is complete. Default: 7.',
      ),
    recipients: z
      .array(z.string().regex(recipientPattern).min(recipientLength.min).max(recipientLength.max))
      .min(1)
      .max(maxRecipients)
      .describe(
        'Public keys of age (age1…) that backups are encrypted for. The identity of each of them decrypts a backup. Keep the identities outside of this cluster.',
      ),
    s3: Storage,
  })
  .describe('Scheduled backups of the clusters: etcd, their secrets and the keys of their disks. Default: none.');
export type BackupSpec = z.infer<typeof BackupSchema>;
