import type { Addressing, ConfiguredHost, Diagnostic } from '../../../engine/platform.ts';

/** What the platform section of a ProviderConfig says, as far as the rest of it refers to that. */
export interface PlatformSectionSummary {
  /** Names of the sizes that it defines. */
  readonly sizes: readonly string[];
  readonly hosts: readonly ConfiguredHost[];
  readonly addressing: Addressing;
}

export const invalidField = (field: string, message: string): Diagnostic => ({
  field,
  reason: 'InvalidConfig',
  message,
});
