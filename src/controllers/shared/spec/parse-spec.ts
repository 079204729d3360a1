import type { ProviderConfig } from '../../../api/provider-config.ts';
import { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';

/** Objects in a cache are immutable, so each is parsed once. */
const parsedByConfig = new WeakMap<object, ReturnType<typeof ProviderConfigSpec.safeParse>>();

/** The spec of a ProviderConfig with its defaults, or its schema errors. */
export function parseSpec(config: ProviderConfig): ReturnType<typeof ProviderConfigSpec.safeParse> {
  const known = parsedByConfig.get(config) ?? ProviderConfigSpec.safeParse(config.spec);
  parsedByConfig.set(config, known);
  return known;
}
