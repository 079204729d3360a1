import { z } from 'zod';

/** The record of the steps of one of these plans, as a status stores it. */
export const progressSchema = <const P extends readonly string[]>(plans: P) =>
  z.strictObject({
    plan: z.enum(plans).describe('Plan that is executed.'),
    step: z.string().describe('Current or next step.'),
    since: z.string().meta({ format: 'date-time' }).describe('Time at which the step became current.'),
    failures: z
      .int()
      .min(0)
      .max(2147483647)
      .default(0)
      .describe('Consecutive failures of the step. The back-off is computed from them.'),
    finishedAt: z.string().meta({ format: 'date-time' }).optional().describe('Time at which the last step completed.'),
    facts: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
      .describe('Data recorded by the steps: ids, names and addresses.'),
  });
