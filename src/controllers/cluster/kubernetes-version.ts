import semver from 'semver';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** A minor version alone stands for its newest patch. */
const minorOnly = /^\d+\.\d+$/;

/**
 * The offered version that a Cluster gets: the one it wishes for; of a minor version the newest patch, deprecated ones only
 * where there is no other; without a wish the newest of all that is not deprecated.
 */
export function chooseOffered({ kubernetes }: ProviderConfigSpec, wished: string | undefined): string | undefined {
  if (!wished) return newest(kubernetes.versions.filter(isCurrent));
  if (!minorOnly.test(wished)) return kubernetes.versions.find(({ version }) => version === wished)?.version;
  const patches = kubernetes.versions.filter(({ version }) => version.startsWith(`${wished}.`));
  return newest(patches.filter(isCurrent)) ?? newest(patches);
}

/** Whether a cluster that runs `version` is what is wished for. */
export const fulfils = (version: string, wished: string): boolean =>
  version === wished || (minorOnly.test(wished) && version.startsWith(`${wished}.`));

type Offered = ProviderConfigSpec['kubernetes']['versions'][number];

const isCurrent = ({ deprecated }: Offered): boolean => !deprecated;

const newest = (offered: readonly Offered[]): string | undefined =>
  offered.map(({ version }) => version).sort(semver.rcompare)[0];
