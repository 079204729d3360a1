import semver from 'semver';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** A minor version alone stands for its newest patch. */
const minorOnly = /^\d+\.\d+$/;

/**
 * The offered version that a Cluster gets: the one it wishes for; of a minor version the newest patch, deprecated ones only
 * where there is no other; without a wish the newest of all that is not deprecated.
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

/** Whether a cluster that runs `version` is what is wished for. */
export const satisfiesVersion = (version: string, wished: string): boolean =>
  version === wished || (minorOnly.test(wished) && version.startsWith(`${wished}.`));

type OfferedVersion = ProviderConfigSpec['kubernetes']['versions'][number];

const isNotDeprecated = ({ deprecated }: OfferedVersion): boolean => !deprecated;

const newestVersion = (offered: readonly OfferedVersion[]): string | undefined =>
  offered.map(({ version }) => version).sort(semver.rcompare)[0];
