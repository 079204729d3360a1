import { trimTrailing } from '../lib/text.ts';
import type { SizeHardware } from './node.ts';

/** What a cloud controller manager would say about a machine. */
interface MachinePlacement {
  readonly instanceType?: string | undefined;
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
}

/** The well-known labels of a Node. Kubernetes spreads Pods over zones by default. */
export const placementLabelsOf = ({ instanceType, region, zone }: MachinePlacement): Record<string, string> => ({
  ...(instanceType === undefined ? {} : { 'node.kubernetes.io/instance-type': instanceType }),
  ...(region === undefined ? {} : { 'topology.kubernetes.io/region': region }),
  ...(zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone }),
});

/** The nearest label value: at most 63 of `[A-Za-z0-9._-]`, letters or digits at both ends. */
export const toLabelValue = (text: string): string =>
  trimTrailing(
    text
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 63),
    /[^A-Za-z0-9]/,
  );

/** The instance type of a virtual machine, which has no product name: `4cpu-8192mib`. */
export const instanceTypeOfSize = ({ cpus, memoryMiB }: Pick<SizeHardware, 'cpus' | 'memoryMiB'>): string =>
  `${cpus}cpu-${memoryMiB}mib`;
