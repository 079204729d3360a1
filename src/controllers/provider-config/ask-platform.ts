import { type ConditionState, no, yes } from '../../api/conditions.ts';
import type { CheckContext, Finding } from '../../engine/platform.ts';
import { type AtSite, sitesIn } from '../../engine/sites.ts';
import { askSites, describeSiteError, type SiteAnswers } from '../ask-sites.ts';
import { findCredentials } from '../credentials.ts';
import type { Services } from '../services.ts';
import type { Chosen } from '../spec/platform.ts';

/** What the platform says to a spec, and with what each of its places can be asked for more. */
interface PlatformAnswer {
  readonly state: ConditionState;
  /** Of those that answered and have what the spec names. */
  readonly checks: readonly (CheckContext & AtSite)[];
  /** The names of the others. */
  readonly away: readonly string[];
}

/**
 * Where a platform has several places, what somebody has to change at one of them is told before that others do not answer,
 * which passes by itself.
 */
export async function askPlatform(
  services: Services,
  { platform, config }: Chosen,
  { signal, log }: Pick<CheckContext, 'signal' | 'log'>,
): Promise<PlatformAnswer> {
  const { connections, clock } = services;
  const checks = new Map<string | undefined, CheckContext & AtSite>();
  const missing: string[] = [];
  for (const site of sitesIn(platform.sites.names(config))) {
    const found = findCredentials(services, platform, config, { site });
    if ('missing' in found) missing.push(found.missing);
    else checks.set(site, { config, site, credentials: found.secrets, connections, log, clock, signal });
  }
  if (missing.length > 0)
    return { state: no('CredentialsValid', 'CredentialsMissing', missing.join(' ')), checks: [], away: [] };
  const well = new Set<string | undefined>();
  const answers = await askSites([...checks.keys()], async (site) => {
    const check = checks.get(site);
    const findings = check ? await platform.check(check) : [];
    if (findings.every(({ advice }) => advice)) well.add(site);
    return findings;
  });
  const away = [...checks.keys()].flatMap((site) => (site === undefined || well.has(site) ? [] : [site]));
  return { state: describe(answers), checks: [...checks.values()].filter(({ site }) => well.has(site)), away };
}

function describe({ findings, errors }: SiteAnswers): ConditionState {
  const refused = errors.some(({ error }) => error.retry === 'after-change');
  const wrong = findings.filter(({ advice }) => !advice);
  const words = [...(wrong.length > 0 ? [sentences(wrong)] : []), ...errors.map(describeSiteError)].join(' ');
  if (wrong.length > 0 || refused) return no('CredentialsValid', 'PlatformRefused', words);
  return errors.length > 0
    ? no('CredentialsValid', 'PlatformUnreachable', words)
    : yes('CredentialsValid', sentences(findings));
}

export const sentences = (findings: readonly Finding[]): string =>
  findings.map(({ field, message }) => `${field}: ${message}`).join(' ');
