import type { Platform } from '../../engine/platform.ts';

/** Reasons with which a Machine in creation waits for what its platform, or the pool of addresses, does not have. */
export const shortageReasonsOf = (platform: Pick<Platform, 'shortageReasons'> | undefined): readonly string[] => [
  'ADDRESS_POOL_EMPTY',
  ...(platform?.shortageReasons ?? []),
];
