import { z } from 'zod';
import { progressSchema } from './schema/progress-schema.ts';

/** The status lists at most this many orphans. */
export const maxListedOrphans = 50;

const timestampSchema = z.string().meta({ format: 'date-time' });

/** Resources left over from a Machine that no longer exists, as the status of a ProviderConfig lists them. */
export const OrphanEntry = z.strictObject({
  machine: z.string().max(63).describe('The Machine that its mark names.'),
  failureDomain: z
    .string()
    .max(32)
    .optional()
    .describe('The failure domain, where the platform section names several.'),
  resources: z.string().describe('The resources that exist.'),
  since: timestampSchema.describe('When it was first seen.'),
  restingSince: timestampSchema
    .optional()
    .describe(
      'Since when nothing of it has run and nothing has spoken of it, at every look. It is removed after a day.',
    ),
  lookedAt: timestampSchema
    .optional()
    .describe('When that was last found to be so. After more than an hour the day begins anew.'),
  message: z.string().describe('What becomes of it, and why.'),
  removal: progressSchema(['release'])
    .optional()
    .describe('Where its removal is in its list of steps, once that has begun.'),
});
/** The result of the last search for orphans. */
export const orphanSearchResults = ['NoneFound', 'OrphansFound', 'PlatformUnreachable', 'PlatformRejected'] as const;

/**
 * Not a condition: all conditions of an object together determine its readiness, and orphans do not keep a
 * ProviderConfig from serving Clusters.
 */
export const OrphanSearch = z.strictObject({
  result: z.enum(orphanSearchResults).describe(`One of ${orphanSearchResults.join(', ')}.`),
  message: z.string().max(4096).describe('What was found, or why it could not be looked for.'),
});
export type OrphanSearch = z.infer<typeof OrphanSearch>;

export type OrphanEntry = z.infer<typeof OrphanEntry>;
