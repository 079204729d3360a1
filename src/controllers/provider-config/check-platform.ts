import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { failureDomainsOrDefault, type InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { Diagnostic } from '../../engine/diagnostic.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import type { ChosenPlatform } from '../shared/spec/choose-platform.ts';
import { checkFailureDomains, describeFailureDomainError, type FailureDomainsCheck } from './check-failure-domains.ts';

/** The result of the platform check and the contexts for further requests. */
interface PlatformCheckResult {
  readonly state: ConditionState;
  /** Contexts of the failure domains that answered and have everything that the spec names. */
  readonly checks: readonly (PlatformContext & InFailureDomain)[];
  /** Names of the other failure domains. */
  readonly unreachable: readonly string[];
}

/**
 * With several failure domains, problems that need a user's change are reported before unreachable ones, which may
 * recover by themselves.
 */
export async function checkPlatform(
  services: Services,
  { platform, config }: ChosenPlatform,
  { signal, log }: Pick<PlatformContext, 'signal' | 'log'>,
): Promise<PlatformCheckResult> {
  const { connections, clock } = services;
  const checks = new Map<string | undefined, PlatformContext & InFailureDomain>();
  const missing: string[] = [];
  for (const failureDomain of failureDomainsOrDefault(platform.failureDomains.names(config))) {
    const found = findPlatformCredentials(services, platform, config, { failureDomain });
    if ('missing' in found) missing.push(found.missing);
    else
      checks.set(failureDomain, { config, failureDomain, credentials: found.secrets, connections, log, clock, signal });
  }
  if (missing.length > 0)
    return {
      state: conditionFalse('CredentialsValid', 'CredentialsMissing', missing.join(' ')),
      checks: [],
      unreachable: [],
    };
  const well = new Set<string | undefined>();
  const answers = await checkFailureDomains([...checks.keys()], async (failureDomain) => {
    const check = checks.get(failureDomain);
    const findings = check ? await platform.check(check) : [];
    if (findings.every(({ advice }) => advice)) well.add(failureDomain);
    return findings;
  });
  const away = [...checks.keys()].flatMap((failureDomain) =>
    failureDomain === undefined || well.has(failureDomain) ? [] : [failureDomain],
  );
  return {
    state: describeCheckResult(answers),
    checks: [...checks.values()].filter(({ failureDomain }) => well.has(failureDomain)),
    unreachable: away,
  };
}

function describeCheckResult({ findings, errors }: FailureDomainsCheck): ConditionState {
  const refused = errors.some(({ error }) => error.retry === 'after-change');
  const wrong = findings.filter(({ advice }) => !advice);
  const words = [
    ...(wrong.length > 0 ? [formatDiagnostics(wrong)] : []),
    ...errors.map(describeFailureDomainError),
  ].join(' ');
  if (wrong.length > 0 || refused) return conditionFalse('CredentialsValid', 'PlatformRejected', words);
  return errors.length > 0
    ? conditionFalse('CredentialsValid', 'PlatformUnreachable', words)
    : conditionTrue('CredentialsValid', formatDiagnostics(findings));
}

export const formatDiagnostics = (findings: readonly Diagnostic[]): string =>
  findings.map(({ field, message }) => `${field}: ${message}`).join(' ');
