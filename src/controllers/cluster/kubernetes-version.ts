import semver from 'semver';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** A minor version alone selects its newest patch version. */
const minorOnly = /^\d+\.\d+$/;

/**
 * Chooses an offered version. An exact version selects itself, a minor version its newest patch version (a deprecated
 * one only if there is no other), and no version the newest that is not deprecated.
 */
export function chooseOfferedVersion(
  { kubernetes }: ProviderConfigSpec,
  wished: string | undefined,
): string | undefined {
  if (!wished) return newestVersion(kubernetes.versions.filter(isNotDeprecated));
  if (!minorOnly.test(wished)) return kubernetes.versions.find(({ version }) => version === wished)?.version;
  const patches = kubernetes.versions.filter(({ version }) => version.startsWith(`${wished}.`));
  return newestVersion(patches.filter(isNotDeprecated)) ?? newestVersion(patches);
}

/** Whether the running `version` satisfies the requested one. */
export const satisfiesVersion = (version: string, wished: string): boolean =>
  version === wished || (minorOnly.test(wished) && version.startsWith(`${wished}.`));

type OfferedVersion = ProviderConfigSpec['kubernetes']['versions'][number];

const isNotDeprecated = ({ deprecated }: OfferedVersion): boolean => !deprecated;

const newestVersion = (offered: readonly OfferedVersion[]): string | undefined =>
  offered.map(({ version }) => version).sort(semver.rcompare)[0];
