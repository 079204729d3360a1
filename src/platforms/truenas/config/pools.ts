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
  .refine((all) => new Set(all).size === all.length, { message: 'a pool is named twice' })
  .describe(
    'Pools that machines may be put on beside pool: each is put on the one with most room at the moment it is made, and stays there. Boot images are kept in pool alone.',
  )
  .optional();
