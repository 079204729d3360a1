import { z } from 'zod';
import { progressOf } from './progress.ts';

/** So many are listed. */
export const mostOrphans = 50;

const time = z.string().meta({ format: 'date-time' });

/** What is left of a Machine that does not exist, as the status of a ProviderConfig tells it. */
export const OrphanEntry = z.strictObject({
  machine: z.string().max(63).describe('The Machine that its mark names.'),
  site: z.string().max(32).optional().describe('The place where it is, where the platform section names several.'),
  what: z.string().describe('What there is of it.'),
  since: time.describe('When it was first seen.'),
  restingSince: time
    .optional()
    .describe(
      'Since when nothing of it has run and nothing has spoken of it, at every look. It is removed after a day.',
    ),
  lookedAt: time.optional().describe('When that was last found to be so. After more than an hour the day begins anew.'),
  message: z.string().describe('What becomes of it, and why.'),
  removal: progressOf(['release'])
    .optional()
    .describe('Where its removal is in its list of steps, once that has begun.'),
});
/** How the last look for orphans went. */
export const orphanResults = ['NoneFound', 'OrphansFound', 'PlatformUnreachable', 'PlatformRefused'] as const;

/**
 * No condition, since all conditions of an object together say whether it is ready, and a ProviderConfig serves Clusters
 * whatever is left of others.
 */
export const OrphanSearch = z.strictObject({
  result: z.enum(orphanResults).describe(`One of ${orphanResults.join(', ')}.`),
  message: z.string().max(4096).describe('What was found, or why it could not be looked for.'),
});
export type OrphanSearch = z.infer<typeof OrphanSearch>;

export type OrphanEntry = z.infer<typeof OrphanEntry>;
