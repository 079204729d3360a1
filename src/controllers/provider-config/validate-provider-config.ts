import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Diagnostic } from '../../engine/diagnostic.ts';
import { checkFixedEndpointIsFree } from '../shared/addresses/fixed-endpoints.ts';
import { type ChosenPlatform, choosePlatform } from '../shared/spec/choose-platform.ts';
import { invalidField } from '../shared/spec/invalid-field.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { validateSpec } from '../shared/spec/validate-spec.ts';

/** The problems of a ProviderConfig that can be found without its platform; without problems, its platform. */
export async function validateProviderConfig(
  needed: Parameters<typeof checkFixedEndpointIsFree>[0],
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<{ readonly chosen: ChosenPlatform } | { readonly findings: readonly Diagnostic[] }> {
  const parsed = parseSpec(config);
  if (!parsed.success) {
    // The following issues often have the same cause.
    const [issue] = parsed.error.issues;
    return { findings: [invalidField(issue?.path.join('.') || 'spec', issue?.message ?? 'not valid')] };
  }
  const chosen = choosePlatform(needed.platforms, parsed.data);
  if (!chosen) {
    const names = needed.platforms.map(({ name }) => name).join(', ');
    return { findings: [invalidField('spec', `exactly one platform section is required (${names}).`)] };
  }
  const findings = validateSpec(parsed.data, chosen.section);
  if (findings.length === 0) findings.push(...(await checkFixedEndpointIsFree(needed, config, signal)));
  return findings.length > 0 ? { findings } : { chosen };
}
