import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Diagnostic } from '../../engine/platform.ts';
import { checkFixedEndpointIsFree } from '../shared/addresses/fixed-endpoints.ts';
import { type ChosenPlatform, choosePlatform } from '../shared/spec/choose-platform.ts';
import { invalidField } from '../shared/spec/invalid-field.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { validateSpec } from '../shared/spec/validate-spec.ts';

/** What is wrong with a ProviderConfig as far as its platform need not be asked, or that platform. */
export async function validateProviderConfig(
  needed: Parameters<typeof checkFixedEndpointIsFree>[0],
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<{ readonly chosen: ChosenPlatform } | { readonly findings: readonly Diagnostic[] }> {
  const parsed = parseSpec(config);
  if (!parsed.success) {
    // Those that follow are often about the same.
    const [issue] = parsed.error.issues;
    return { findings: [invalidField(issue?.path.join('.') || 'spec', issue?.message ?? 'not valid')] };
  }
  const chosen = choosePlatform(needed.platforms, parsed.data);
  if (!chosen) {
    const names = needed.platforms.map(({ name }) => name).join(', ');
    return { findings: [invalidField('spec', `exactly one platform section must be given (${names}).`)] };
  }
  const findings = validateSpec(parsed.data, chosen.section);
  if (findings.length === 0) findings.push(...(await checkFixedEndpointIsFree(needed, config, signal)));
  return findings.length > 0 ? { findings } : { chosen };
}
