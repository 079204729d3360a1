import semver from 'semver';
import type { Machine } from '../../api/machine.ts';

/**
 * The version of Talos that a machine was last seen with. A machine that was not compared yet still runs the version that
 * it was made with: its spec follows the ProviderConfig only from then on.
 */
export const runningTalosVersion = ({ spec, status }: Pick<Machine, 'spec' | 'status'>): string =>
  status?.applied?.talosVersion ?? spec.talosVersion;

/** During an upgrade the version that all machines have at least. Undefined without machines. */
export const lowestTalosVersion = (machines: readonly Pick<Machine, 'spec' | 'status'>[]): string | undefined =>
  machines.map(runningTalosVersion).sort((a, b) => compareVersions(a, b))[0];

const compareVersions = (a: string, b: string): number =>
  semver.valid(a) && semver.valid(b) ? semver.compare(a, b) : a.localeCompare(b);
