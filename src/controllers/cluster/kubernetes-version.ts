import semver from 'semver';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** A minor version alone selects its newest patch version. */
export const isMinorOnly = (version: string): boolean => /^\d+\.\d+$/.test(version);

/**
 * Chooses an offered version. An exact version selects itself, a minor version its newest patch version (a deprecated
 * one only if there is no other), and no version the newest that is not deprecated.
 */
export function chooseOfferedVersion(
  { kubernetes }: Pick<ProviderConfigSpec, 'kubernetes'>,
  desired: string | undefined,
): string | undefined {
  if (!desired) return newestVersion(kubernetes.versions.filter(isNotDeprecated));
  if (!isMinorOnly(desired)) return kubernetes.versions.find(({ version }) => version === desired)?.version;
  const patches = kubernetes.versions.filter(({ version }) => version.startsWith(`${desired}.`));
  return newestVersion(patches.filter(isNotDeprecated)) ?? newestVersion(patches);
}

type OfferedVersion = ProviderConfigSpec['kubernetes']['versions'][number];

const isNotDeprecated = ({ deprecated }: OfferedVersion): boolean => !deprecated;

const newestVersion = (offered: readonly OfferedVersion[]): string | undefined =>
  offered.map(({ version }) => version).sort(semver.rcompare)[0];
