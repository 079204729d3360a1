import type { Diagnostic } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';

/** What came of asking all places of a section. */
export interface FailureDomainsCheck {
  readonly findings: readonly Diagnostic[];
  /** Of each that could not be asked to the end, why. */
  readonly errors: readonly FailureDomainError[];
}

export interface FailureDomainError {
  readonly site: string | undefined;
  readonly error: ProviderError;
}

/** Asks each place at the same time. One that does not answer keeps nobody from what the others say. */
export async function checkFailureDomains(
  sites: readonly (string | undefined)[],
  ask: (site: string | undefined) => Promise<readonly Diagnostic[]>,
): Promise<FailureDomainsCheck> {
  const answers = await Promise.all(
    sites.map(async (site) => {
      try {
        return { findings: await ask(site), errors: [] };
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        return { findings: [], errors: [{ site, error }] };
      }
    }),
  );
  // What they share is found wrong by each of them.
  const findings = new Map(answers.flatMap((one) => one.findings).map((one) => [`${one.field}: ${one.message}`, one]));
  return { findings: [...findings.values()], errors: answers.flatMap(({ errors }) => errors) };
}

/** What to say of a place that could not be asked. */
export const describeFailureDomainError = ({ site, error }: FailureDomainError): string =>
  site === undefined ? error.message : `${site}: ${error.message}`;
