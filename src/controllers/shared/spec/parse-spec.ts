import type { ProviderConfig } from '../../../api/provider-config.ts';
import { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { memoizeByObject } from '../../../lib/memoize-by-object.ts';

/** The spec of a ProviderConfig with its defaults, or its schema errors. Objects in a cache are immutable, so each is parsed once. */
export const parseSpec = memoizeByObject(({ spec }: ProviderConfig) => ProviderConfigSpec.safeParse(spec));
