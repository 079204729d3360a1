import { z } from 'zod';
import { measurePatch, patchLimits } from './patch-limits.ts';

/** A CEL rule of the CRD. The API server rejects a violation with this message. */
export const celValidation = (expression: string, message: string) => ({
  'x-kubernetes-validations': [{ rule: expression, message }],
});

/**
 * A CEL rule of the CRD for a field that is required under a condition. `path` is relative to the object that the rule
 * belongs to.
 */
export const requiredWhenRule = (condition: string, path: string) => ({
  rule: `!(${condition}) || has(self.${path})`,
  message: `${path} is required`,
  fieldPath: `.${path}`,
  reason: 'FieldValueRequired',
});

export const listMapBy = (key: string) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
export const listSet = { 'x-kubernetes-list-type': 'set' };

const PatchSchema = z
  .looseObject({})
  .superRefine((patch, context) => {
    const size = measurePatch(patch);
    if ('tooMuch' in size)
      context.addIssue({ code: 'custom', message: `The patch ${size.tooMuch}. Split it, or leave some out` });
  })
  .meta({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
  .describe('One document of a strategic merge patch for a Talos machine configuration.');

/** The size limit of one patch, for descriptions. */
const patchLimitsText = `${patchLimits.characters / 1024} KiB of text, ${patchLimits.values} keys and elements and ${patchLimits.depth} levels`;

/** `rights`: a sentence on the fields that the patches may set, if they are restricted. */
export const patchesSchema = (whom: string, rights = '') =>
  z
    .array(PatchSchema)
    .max(32)
    .default([])
    .describe(
      `Patches to the machine configuration of ${whom}, applied in order. Each has at most ${patchLimitsText}. ${rights}Default: none.`,
    );

/** A zone of the IANA database, or UTC. */
export const timeZoneSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/)
  .max(64);

export const controlPlaneReplicasSchema = z.int().min(1).max(5);
/** Must be set on the outermost schema of the field. */
export const oddReplicasRule = celValidation(
  'self in [1, 3, 5]',
  'controlPlane.replicas must be 1, 3 or 5: etcd needs an odd number of members to survive the loss of one',
);

export const nodeSizeSchema = z.string().min(1).max(32).describe('Name of a size of the platform section.');

export const workerPoolNameSchema = z
  .string()
  .regex(/^[a-z]([a-z0-9-]*[a-z0-9])?$/)
  .max(16)
  .meta(celValidation("self != 'cp'", 'a worker pool cannot have the name cp, which is reserved for control planes'))
  .describe('Name of the pool, which is part of the names of its nodes.');
export const workerReplicasSchema = z.int().min(0).max(500);
/** Missing limits are `replicas` itself. */
export const replicaLimitsRule = {
  rule: '(!has(self.minReplicas) || !has(self.replicas) || self.minReplicas <= self.replicas) && (!has(self.maxReplicas) || !has(self.replicas) || self.replicas <= self.maxReplicas) && (!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas)',
  message: 'replicas must be between minReplicas and maxReplicas',
};
/** More labels than users set; every label is checked for every kind of node. */
const maxLabels = 128;
export const nodeLabelsSchema = z
  .record(z.string().max(316), z.string().max(63))
  .refine((labels) => Object.keys(labels).length <= maxLabels, { message: `more than ${maxLabels} labels` });

const TaintSchema = z.strictObject({
  key: z.string().min(1).max(316).describe('Taint key.'),
  value: z.string().max(63).default('').describe('Taint value. Default: empty.'),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .describe('Effect on Pods that do not tolerate the taint.'),
});

export const taintsSchema = z.array(TaintSchema).max(20);
