import { z } from 'zod';

/** The record of the steps of one of these plans, as a status stores it. */
export const progressSchema = <const P extends readonly string[]>(plans: P) =>
  z.strictObject({
    plan: z.enum(plans).describe('Which list of steps is walked.'),
    step: z.string().describe('The step that runs next or is running.'),
    since: z.string().meta({ format: 'date-time' }).describe('When it became current.'),
    failures: z
      .int()
      .min(0)
      .max(2147483647)
      .default(0)
      .describe('Errors in this step so far; the back-off is computed from them.'),
    finishedAt: z.string().meta({ format: 'date-time' }).optional().describe('When the last step was done.'),
    facts: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
      .describe('What the steps learned: ids, names and addresses.'),
  });
