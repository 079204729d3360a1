import semver from 'semver';
import type { Diagnostic } from '../engine/diagnostic.ts';

/** The Kubernetes minors that a Talos minor accepts: always six (`pkg/machinery/compatibility` of Talos). */
interface KubernetesRange {
  readonly oldest: string;
  readonly newest: string;
}

/** The supported Talos minors with the Kubernetes minors that each of them runs. */
const kubernetesRanges: Readonly<Record<string, KubernetesRange>> = {
  '1.12': { oldest: '1.30', newest: '1.35' },
  '1.13': { oldest: '1.31', newest: '1.36' },
  '1.14': { oldest: '1.32', newest: '1.37' },
};

/**
 * The Kubernetes minors of a Talos version; undefined for a Talos that this release does not know, e.g. a newer one that
 * was installed by hand.
 */
const kubernetesRangeOf = (talosVersion: string): KubernetesRange | undefined =>
  kubernetesRanges[minorOf(talosVersion) ?? ''];

/** Whether a Talos version runs a Kubernetes version. An unknown Talos is not ruled out. */
export function runsKubernetes(talosVersion: string, kubernetesVersion: string): boolean {
  const [range, minor] = [kubernetesRangeOf(talosVersion), minorOf(kubernetesVersion)];
  if (!range || minor === undefined) return true;
  return semver.gte(`${minor}.0`, `${range.oldest}.0`) && semver.lte(`${minor}.0`, `${range.newest}.0`);
}

/** The first supported Talos minor that runs a Kubernetes version; undefined: none does. */
export const firstTalosFor = (kubernetesVersion: string): string | undefined =>
  Object.keys(kubernetesRanges).find((minor) => runsKubernetes(`${minor}.0`, kubernetesVersion));

/** The supported Talos minors as text for messages. */
export const supportedTalosMinors = Object.keys(kubernetesRanges).join(', ');

/** `1.13` of `1.13.9` or `v1.13.9-rc.1`; undefined for an invalid version. */
export function minorOf(version: string): string | undefined {
  const parsed = semver.parse(version);
  return parsed ? `${parsed.major}.${parsed.minor}` : undefined;
}

/** Whether a version belongs to a minor or a later one. A pre-release counts as its minor. */
export function isAtLeastMinor(version: string, minor: string): boolean {
  const own = minorOf(version);
  return own !== undefined && semver.gte(`${own}.0`, `${minor}.0`);
}

/** `1.13.9` of `v1.13.9` or `1.13.9`. Image tags add their own `v`. */
export const withoutLeadingV = (version: string): string => version.replace(/^v/, '');

/**
 * Checks that this Talos version runs these Kubernetes versions. The fields are those of a ProviderConfig. The nodes
 * would reject their configuration otherwise.
 */
export function checkVersions(talosVersion: string, kubernetesVersions: readonly string[]): Diagnostic[] {
  const minor = minorOf(talosVersion);
  const window = minor === undefined ? undefined : kubernetesRanges[minor];
  if (!window) {
    const message =
      minor === undefined
        ? `"${talosVersion}" is not a version: use the form 1.13.9.`
        : `Talos ${talosVersion} is not supported: choose a release of ${supportedTalosMinors}.`;
    return [{ field: 'talos.version', reason: 'TalosVersionUnsupported', message }];
  }
  return kubernetesVersions.flatMap((version, i) => {
    const message = findKubernetesVersionProblem(version, window, talosVersion);
    return message
      ? [{ field: `kubernetes.versions[${i}].version`, reason: 'KubernetesVersionUnsupported', message }]
      : [];
  });
}

function findKubernetesVersionProblem(
  version: string,
  window: KubernetesRange,
  talosVersion: string,
): string | undefined {
  const minor = minorOf(version);
  if (minor === undefined) return `"${version}" is not a Kubernetes version. Use a version like 1.35.4.`;
  if (runsKubernetes(talosVersion, version)) return undefined;
  const range = `${window.oldest} to ${window.newest}`;
  return `Talos ${withoutLeadingV(talosVersion)} runs Kubernetes ${range}, not ${version}. Remove it from the list, or change talos.version.`;
}
