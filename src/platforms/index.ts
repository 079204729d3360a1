import type { Platform } from '../engine/platform.ts';

/** Every platform this provider knows. A new one is one word here. */
export const platforms: readonly Platform[] = [];
