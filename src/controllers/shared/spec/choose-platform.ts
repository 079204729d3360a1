import { findPlatformSection, type ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing, Platform } from '../../../engine/platform.ts';
import type { PlatformSectionSummary } from './invalid-field.ts';

/** The platform that a spec is for, its part of the spec, and what the rest of the spec is judged by. */
export interface ChosenPlatform {
  readonly platform: Platform;
  /** As given: entry points of the platform parse it. */
  readonly config: unknown;
  readonly section: PlatformSectionSummary;
}

/** `undefined` unless the spec has the section of exactly one platform, and that is known. */
export function choosePlatform(platforms: readonly Platform[], spec: ProviderConfigSpec): ChosenPlatform | undefined {
  const given = findPlatformSection(spec);
  const platform = platforms.find(({ name }) => name === given?.name);
  if (!given || !platform) return undefined;
  const config = given.section;
  const section = {
    sizes: platform.sizes(config),
    hosts: platform.hosts(config),
    addressing: platform.addressing(config),
  };
  return { platform, config, section };
}

/** What the platform of any spec does with addresses; undefined when its section is not a valid one. */
export function addressingOf(platforms: readonly Platform[], spec: ProviderConfigSpec): Addressing | undefined {
  const given = findPlatformSection(spec);
  const platform = platforms.find(({ name }) => name === given?.name);
  return given && platform?.config.safeParse(given.section).success ? platform.addressing(given.section) : undefined;
}
