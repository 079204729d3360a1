import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Finding } from '../../engine/platform.ts';
import { checkEndpointIsFree } from '../fixed-endpoints.ts';
import { parseSpec } from '../spec/parse.ts';
import { type Chosen, choosePlatform } from '../spec/platform.ts';
import { invalid } from './finding.ts';
import { validateSpec } from './validate.ts';

/** What is wrong with a ProviderConfig as far as its platform need not be asked, or that platform. */
export async function lookOver(
  needed: Parameters<typeof checkEndpointIsFree>[0],
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<{ readonly chosen: Chosen } | { readonly findings: readonly Finding[] }> {
  const parsed = parseSpec(config);
  if (!parsed.success) {
    // Those that follow are often about the same.
    const [issue] = parsed.error.issues;
    return { findings: [invalid(issue?.path.join('.') || 'spec', issue?.message ?? 'not valid')] };
  }
  const chosen = choosePlatform(needed.platforms, parsed.data);
  if (!chosen) {
    const names = needed.platforms.map(({ name }) => name).join(', ');
    return { findings: [invalid('spec', `exactly one platform section must be given (${names}).`)] };
  }
  const findings = validateSpec(parsed.data, chosen.section);
  if (findings.length === 0) findings.push(...(await checkEndpointIsFree(needed, config, signal)));
  return findings.length > 0 ? { findings } : { chosen };
}
