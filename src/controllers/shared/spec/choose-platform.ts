import { findPlatformSection, type ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import type { Platform } from '../../../engine/platform.ts';
import type { PlatformSectionSummary } from './invalid-field.ts';

/** The platform of a spec, its section, and the summary for the validation of the rest. */
export interface ChosenPlatform {
  readonly platform: Platform;
  /** Unparsed: the functions of the platform parse it. */
  readonly config: unknown;
  readonly section: PlatformSectionSummary;
}

/** `undefined` unless the spec has the section of exactly one known platform. */
export function choosePlatform(platforms: readonly Platform[], spec: ProviderConfigSpec): ChosenPlatform | undefined {
  const given = findPlatformSection(spec);
  const platform = platforms.find(({ name }) => name === given?.name);
  if (!given || !platform) return undefined;
  const config = given.section;
  const section = {
    sizes: platform.sizes(config),
    hosts: platform.config.foreignHosts(config),
    addressing: platform.network.addressing(config),
    isExternal: platform.isExternal,
  };
  return { platform, config, section };
}

/** How the platform of a spec assigns addresses; undefined if its section is invalid. */
export function addressingOf(platforms: readonly Platform[], spec: ProviderConfigSpec): Addressing | undefined {
  const given = findPlatformSection(spec);
  const platform = platforms.find(({ name }) => name === given?.name);
  return given && platform?.config.schema.safeParse(given.section).success
    ? platform.network.addressing(given.section)
    : undefined;
}
