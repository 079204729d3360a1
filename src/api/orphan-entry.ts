import { z } from 'zod';
import { progressSchema } from './schema/progress-schema.ts';

/** The status lists at most this many orphans. */
export const maxListedOrphans = 50;

const timestampSchema = z.string().meta({ format: 'date-time' });

/** Resources left over from a Machine that no longer exists, as the status of a ProviderConfig lists them. */
export const OrphanEntry = z.strictObject({
  machine: z.string().max(63).describe('Name of the Machine in the mark of the resources.'),
  failureDomain: z.string().max(32).optional().describe('Failure domain, if the platform section has several.'),
  resources: z.string().describe('The existing resources.'),
  since: timestampSchema.describe('Time of the first observation.'),
  restingSince: timestampSchema
    .optional()
    .describe(
      'Since when nothing of it has run and nothing has spoken of it, at every look. It is removed after a day.',
    ),
  lookedAt: timestampSchema
    .optional()
    .describe('When that was last found to be so. After more than an hour the day begins anew.'),
  message: z.string().describe('Planned action and its reason.'),
  removal: progressSchema(['release']).optional().describe('Progress of the removal, once it has begun.'),
});
/** The result of the last search for orphans. */
export const orphanSearchResults = ['NoneFound', 'OrphansFound', 'PlatformUnreachable', 'PlatformRejected'] as const;

/**
 * Not a condition: all conditions of an object together determine its readiness, and orphans do not keep a
 * ProviderConfig from serving Clusters.
 */
export const OrphanSearch = z.strictObject({
  result: z.enum(orphanSearchResults).describe(`One of ${orphanSearchResults.join(', ')}.`),
  message: z.string().max(4096).describe('Summary of the search, or the reason for its failure.'),
});
export type OrphanSearch = z.infer<typeof OrphanSearch>;

export type OrphanEntry = z.infer<typeof OrphanEntry>;
