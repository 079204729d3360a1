import type { Addressing, Finding, NamedHost } from '../../engine/platform.ts';

/** What the platform section of a ProviderConfig says, as far as the rest of it refers to that. */
export interface Section {
  /** Names of the sizes that it defines. */
  readonly sizes: readonly string[];
  readonly hosts: readonly NamedHost[];
  readonly addressing: Addressing;
}

export const invalid = (field: string, message: string): Finding => ({ field, reason: 'InvalidConfig', message });
