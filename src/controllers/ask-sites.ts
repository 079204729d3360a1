import type { Finding } from '../engine/platform.ts';
import { ProviderError } from '../lib/errors.ts';

/** What came of asking all places of a section. */
export interface SiteAnswers {
  readonly findings: readonly Finding[];
  /** Of each that could not be asked to the end, why. */
  readonly errors: readonly SiteError[];
}

export interface SiteError {
  readonly site: string | undefined;
  readonly error: ProviderError;
}

/** Asks each place at the same time. One that does not answer keeps nobody from what the others say. */
export async function askSites(
  sites: readonly (string | undefined)[],
  ask: (site: string | undefined) => Promise<readonly Finding[]>,
): Promise<SiteAnswers> {
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
export const describeSiteError = ({ site, error }: SiteError): string =>
  site === undefined ? error.message : `${site}: ${error.message}`;
