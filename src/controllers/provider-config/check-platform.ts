import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { failureDomainsOrDefault, type InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { Diagnostic } from '../../engine/diagnostic.ts';
import { shortHash } from '../../lib/hash.ts';
import type { PlatformCheck } from '../shared/platform-checks.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import type { ChosenPlatform } from '../shared/spec/choose-platform.ts';
import { checkFailureDomains, describeFailureDomainError, type FailureDomainsCheck } from './check-failure-domains.ts';

type CheckContext = PlatformContext & InFailureDomain;

interface PlatformContexts {
  /** By failure domain; without those whose credentials are missing. */
  readonly contexts: ReadonlyMap<string | undefined, CheckContext>;
  /** A sentence for each Secret that is missing. */
  readonly missing: readonly string[];
}

/** The contexts for calls to the failure domains of a platform section. */
export function createPlatformContexts(
  services: Services,
  { platform, config }: ChosenPlatform,
  { signal, log }: Pick<PlatformContext, 'signal' | 'log'>,
): PlatformContexts {
  const { connections, clock } = services;
  const contexts = new Map<string | undefined, CheckContext>();
  const missing: string[] = [];
  for (const failureDomain of failureDomainsOrDefault(platform.failureDomains.names(config))) {
    const found = findPlatformCredentials(services, platform, config, { failureDomain });
    if ('missing' in found) missing.push(found.missing);
    else
      contexts.set(failureDomain, {
        config,
        failureDomain,
        credentials: found.secrets,
        connections,
        log,
        clock,
        signal,
      });
  }
  return { contexts, missing };
}

/** Identifies the platform section and its credentials. */
export function hashCheckInputs(services: Services, { platform, config }: ChosenPlatform): string {
  const secrets = failureDomainsOrDefault(platform.failureDomains.names(config)).map((failureDomain) => {
    const name = platform.config.credentialsRef(config, failureDomain);
    if (name === undefined) return undefined;
    const secret = services.stores.secrets.get({ namespace: services.namespace, name });
    return [name, secret?.metadata.uid, secret?.metadata.resourceVersion];
  });
  return shortHash(JSON.stringify([platform.name, config, secrets]));
}

/**
 * With several failure domains, problems that need a user's change are reported before unreachable ones, which may
 * recover by themselves. A missing Secret does not affect the check of the other failure domains.
 */
export async function checkPlatform(
  services: Services,
  chosen: ChosenPlatform,
  within: Pick<PlatformContext, 'signal' | 'log'>,
): Promise<{ readonly state: ConditionState; readonly check: PlatformCheck }> {
  const { platform } = chosen;
  const { contexts, missing } = createPlatformContexts(services, chosen, within);
  const available = new Set<string | undefined>();
  const answers = await checkFailureDomains([...contexts.keys()], async (failureDomain) => {
    const context = contexts.get(failureDomain);
    const findings = context ? await platform.check(context) : [];
    if (findings.every(({ advice }) => advice)) available.add(failureDomain);
    return findings;
  });
  const state =
    missing.length > 0
      ? conditionFalse('CredentialsValid', 'CredentialsMissing', missing.join(' '))
      : describeCheckResult(answers);
  return { state, check: { chosen, available: [...available] } };
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
