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
  unusedSince: timestampSchema
    .optional()
    .describe('Time since which every scan has found the orphan stopped and unreferenced. It is removed after a day.'),
  lastSeenAt: timestampSchema
    .optional()
    .describe(
      'Time of the last scan that found it unused. After a gap of more than an hour, unusedSince starts again.',
    ),
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
