import { z } from 'zod';

export const zfsPoolName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z][A-Za-z0-9_.-]*$/);

/** Pools beside `pool`. */
export const furtherPoolsField = z
  .array(zfsPoolName)
  .max(8)
  .meta({ 'x-kubernetes-list-type': 'set' })
  .refine((all) => new Set(all).size === all.length, { message: 'pool names must be unique' })
  .describe(
    'Additional pools for machines. A new machine uses the pool with the most available space and stays there. Boot images are only in pool.',
  )
  .optional();
