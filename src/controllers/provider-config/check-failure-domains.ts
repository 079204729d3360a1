import type { Diagnostic } from '../../engine/diagnostic.ts';
import { ProviderError } from '../../lib/errors.ts';

/** The results of the checks of all failure domains of a section. */
export interface FailureDomainsCheck {
  readonly findings: readonly Diagnostic[];
  /** The errors of the failure domains whose check did not complete. */
  readonly errors: readonly FailureDomainError[];
}

export interface FailureDomainError {
  readonly failureDomain: string | undefined;
  readonly error: ProviderError;
}

/** Checks all failure domains in parallel. An unreachable one does not affect the others. */
export async function checkFailureDomains(
  failureDomains: readonly (string | undefined)[],
  ask: (failureDomain: string | undefined) => Promise<readonly Diagnostic[]>,
): Promise<FailureDomainsCheck> {
  const answers = await Promise.all(
    failureDomains.map(async (failureDomain) => {
      try {
        return { findings: await ask(failureDomain), errors: [] };
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        return { findings: [], errors: [{ failureDomain, error }] };
      }
    }),
  );
  // Each failure domain reports the problems of shared settings, so equal messages are merged.
  const findings = new Map(answers.flatMap((one) => one.findings).map((one) => [`${one.field}: ${one.message}`, one]));
  return { findings: [...findings.values()], errors: answers.flatMap(({ errors }) => errors) };
}

/** The message for a failure domain that could not be checked. */
export const describeFailureDomainError = ({ failureDomain, error }: FailureDomainError): string =>
  failureDomain === undefined ? error.message : `${failureDomain}: ${error.message}`;
