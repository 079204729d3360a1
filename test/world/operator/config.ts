import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** A Kubernetes label selector. */
const LabelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()).optional(),
      }),
    )
    .optional(),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

const Metadata = z.object({
  name: z.string().optional(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

const ClusterDefinition = z
  .object({
    tenancyCount: z.int().min(0).default(0),
    template: z.object({
      metadata: Metadata.prefault({}),
      spec: z.looseObject({
        profile: z.string().min(1),
        tenancy: z.enum(['Exclusive', 'Shared']),
        purposes: z.array(z.string()).optional(),
        kubernetes: z.looseObject({}).optional(),
      }),
    }),
    selector: LabelSelector.optional(),
  })
  .refine(
    ({ tenancyCount, template }) => tenancyCount === 0 || template.spec.tenancy === 'Shared',
    'tenancyCount must be 0 for Exclusive clusters',
  );
/** The Cluster of one purpose. */
export type ClusterDefinition = z.infer<typeof ClusterDefinition>;

/**
 * The simulated part of the operator's configuration file. Unknown keys are ignored, as by the operator; with its
 * scheduler running, `scheduler` is required.
 */
export const OperatorConfig = z.object({
  scheduler: z.object({
    scope: z.enum(['Cluster', 'Namespaced']).default('Cluster'),
    strategy: z.enum(['Balanced', 'Random', 'Simple']).default('Balanced'),
    selectors: z.object({ clusters: LabelSelector.optional(), requests: LabelSelector.optional() }).prefault({}),
    purposeMappings: z.record(z.string().min(1), ClusterDefinition).default({}),
  }),
  accessRequest: z.object({ selector: LabelSelector.optional() }).prefault({}),
});
export type OperatorConfig = z.infer<typeof OperatorConfig>;

/**
 * Reads files and folders (their .yaml, .yml and .json files) as one configuration; later files override earlier ones.
 */
export function readOperatorConfig(...paths: string[]): OperatorConfig {
  const files = paths.flatMap((path) =>
    statSync(path).isDirectory()
      ? readdirSync(path)
          .filter((name) => /\.(ya?ml|json)$/.test(name))
          .sort()
          .map((name) => join(path, name))
      : [path],
  );
  const merged = files.reduce<unknown>((sum, file) => merge(sum, parse(readFileSync(file, 'utf8'))), {});
  return parseOperatorConfig(merged);
}

/** Throws a RangeError with the error. */
export function parseOperatorConfig(content: unknown): OperatorConfig {
  const result = OperatorConfig.safeParse(content);
  if (result.success) return result.data;
  throw new RangeError(`the configuration is not one for operator: ${z.prettifyError(result.error)}`);
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(below: unknown, above: unknown): unknown {
  if (!isPlain(below) || !isPlain(above)) return above ?? below;
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) merged[key] = merge(merged[key], value);
  return merged;
}

/** The selectors as one API parameter; undefined when all of them select everything. */
export function selectorText(...selectors: readonly (LabelSelector | undefined)[]): string | undefined {
  const parts = selectors.flatMap((selector) => [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`),
    ...(selector?.matchExpressions ?? []).map(({ key, operator, values }) => {
      if (operator === 'Exists') return key;
      if (operator === 'DoesNotExist') return `!${key}`;
      return `${key} ${operator === 'In' ? 'in' : 'notin'} (${(values ?? []).join(',')})`;
    }),
  ]);
  return parts.length > 0 ? parts.join(',') : undefined;
}
