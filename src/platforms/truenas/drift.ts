import type { Drift } from '../../engine/observation.ts';

export const drift = (reason: string, message: string, more: Partial<Drift> = {}): Drift => ({
  ...{ reason, message },
  ...more,
});
