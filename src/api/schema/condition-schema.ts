import { z } from 'zod';

/** The schema of a condition in the provider's CRDs, equal to that of `metav1.Condition`. */
const ConditionSchema = z.strictObject({
  type: z.string().max(316).describe('What is spoken of.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('True is good.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Why, in one word. Stable.'),
  message: z.string().max(32768).describe('Why, in a sentence.'),
  lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('When the status last changed.'),
  observedGeneration: z.int().min(0).optional().meta({ format: 'int64' }).describe('Generation that this speaks of.'),
});

/** The list of conditions in a status; `which` names the subject in the description. */
export const conditionListSchema = (which: string) =>
  z
    .array(ConditionSchema)
    .default([])
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .describe(which);

/** Part of every status. */
export const observedGenerationSchema = z
  .int()
  .min(0)
  .default(0)
  .meta({ format: 'int64' })
  .describe('Generation that this status speaks of.');
