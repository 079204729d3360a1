import type { MachineConfig } from './decode.ts';
import { viewOf } from './view.ts';

/** What a node knows when it judges a configuration. */
export interface ValidationContext {
  readonly minor: number;
  readonly version: string;
  /** `metal` requires install instructions, `cloud` does not. */
  readonly mode: 'metal' | 'cloud';
  readonly installed: boolean;
}

/** Sentences for what is wrong; empty when a node would accept it. */
export function validateConfig(
  _config: MachineConfig,
  _context: ValidationContext,
): { errors: string[]; warnings: string[] } {
  viewOf(_config);
  return { errors: [], warnings: [] };
}
