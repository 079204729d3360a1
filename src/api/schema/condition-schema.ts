import { z } from 'zod';

/** The schema of a condition in the provider's CRDs, equal to that of `metav1.Condition`. */
const ConditionSchema = z.strictObject({
  type: z.string().max(316).describe('Type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Reason of the status, for programs.'),
  message: z.string().max(32768).describe('Reason of the status, for users.'),
  lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('Time of the last change of the status.'),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .meta({ format: 'int64' })
    .describe('Generation of the object that the condition is based on.'),
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
  .describe('Generation of the object that the status is based on.');
