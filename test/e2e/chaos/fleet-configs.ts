import { readFile } from 'node:fs/promises';
import { metalImageChecksum } from '../../support/fixtures/metal-image-checksum.ts';
import type { TrueNasSimulator } from '../../world/truenas/index.ts';
import type { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import type { RawProviderConfigSpec } from '../support/objects/test-objects.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type ConfigName, type NasName, nasOf } from './fleet-layout.ts';

/** Releases of Talos and Kubernetes, oldest first. A fleet begins with the first ones, and each Talos runs each of these. */
export const talosVersions = [
  ...['1.12.11', '1.12.12', '1.13.8', '1.13.9', '1.13.10', '1.13.11', '1.13.12', '1.14.0', '1.14.1', '1.14.2'],
  ...['1.14.3', '1.14.4', '1.14.5'],
] as const;
export const kubernetesVersions = [
  ...['1.33.5', '1.33.6', '1.33.7', '1.34.1', '1.34.2', '1.34.3', '1.34.4', '1.35.1', '1.35.2', '1.35.3', '1.35.4'],
] as const;

/** Last numbers of the addresses of each template with virtual machines. */
const addresses: Readonly<Record<ConfigName, readonly [number, number]>> = {
  east: [10, 49],
  west: [50, 79],
  spread: [80, 179],
  metal: [180, 189],
};

/** Name of the Secret with the key to a NAS. */
export const keySecretOf = (nas: NasName): string => `truenas-${nas}`;

/** Of the image that bare servers with this release boot from. */
export const imageChecksumOf = (version: string): string =>
  metalImageChecksum(version, { extensions: [], kernelArguments: [] });

export interface ConfigSources {
  readonly testbed: Testbed;
  readonly robot: RobotTestObjects;
  readonly systems: ReadonlyMap<NasName, TrueNasSimulator>;
}

/** One system of `spec.truenas.systems`. */
async function systemEntry(name: NasName, { line }: TrueNasSimulator) {
  const caBundle = await readFile(line.ca ?? '', 'utf8');
  return { name, url: line.url, caBundle, credentialsRef: { name: keySecretOf(name) }, pool: 'tank', bridge: 'br0' };
}

/** Creates the template of this name. */
export async function createConfig(name: ConfigName, sources: ConfigSources, maxClusters: number): Promise<void> {
  const { testbed, robot, systems } = sources;
  const entries = await Promise.all(
    nasOf(name).map(async (nas) => await systemEntry(nas, systems.get(nas) as TrueNasSimulator)),
  );
  const change = (spec: RawProviderConfigSpec): void => {
    const [version] = talosVersions;
    const pool = { name: 'work', replicas: 1, minReplicas: 1, maxReplicas: 3, size: 'small' };
    Object.assign(spec, { workerPools: [pool], rollout: { maxClusters } });
    Object.assign(spec.talos, { version });
    Object.assign(spec.kubernetes, { versions: kubernetesVersions.map((version) => ({ version })) });
    if (name === 'metal') {
      Object.assign(spec, { remediation: { strategy: 'Replace' } });
      Object.assign(spec['hetznerRobot'] as object, { image: { sha256: imageChecksumOf(version) } });
    } else {
      Object.assign(spec, { truenas: { sizes: spec.truenas['sizes'], systems: entries } });
    }
  };
  const words = { controlPlanes: name === 'spread' ? 3 : 1, pool: addresses[name], change };
  await (name === 'metal' ? robot.config(name, words) : testbed.objects.config(name, words));
}
