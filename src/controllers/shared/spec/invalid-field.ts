import type { Addressing, ConfiguredHost } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';

/** The parts of the platform section that other sections refer to. */
export interface PlatformSectionSummary {
  readonly sizes: readonly string[];
  readonly hosts: readonly ConfiguredHost[];
  readonly addressing: Addressing;
  /** Others make the nodes. */
  readonly isExternal?: boolean;
}

export const invalidField = (field: string, message: string): Diagnostic => ({
  field,
  reason: 'InvalidConfig',
  message,
});
