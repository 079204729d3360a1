import { readFile } from 'node:fs/promises';
import { Host } from '../../../src/api/host.ts';
import type { Cluster } from '../../../src/api/openmcp/types.ts';
import { apiVersionOf, type KubeObject } from '../../../src/kube/resource.ts';
import { metalImageChecksum } from '../../support/fixtures/metal-image-checksum.ts';
import { makeSshKey } from '../../world/robot/setup/ssh-key.ts';
import type { RunningWorld } from '../../world/world.ts';
import { adaptTalosSection, type RawConfig, type RawSecret, type RawSections, readSamples } from '../objects.ts';

interface TalosSection {
  readonly version: string;
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** `config/samples/hetzner-robot.yaml`, with the demo's account and addresses. */
export async function robotConfigObjects(world: RunningWorld): Promise<KubeObject[]> {
  const objects = await readSamples('hetzner-robot');
  const { user = '', password = '' } = world.robot.line.credentials;
  const { private: sshPrivateKey } = makeSshKey();
  for (const object of objects) {
    if (object.kind === 'ProviderConfig') await adaptConfig((object as RawConfig).spec, world);
    if (object.kind === 'Secret') (object as RawSecret).stringData = { username: user, password, sshPrivateKey };
  }
  return objects;
}

async function adaptConfig(spec: RawSections, world: RunningWorld): Promise<void> {
  const { url, ca, credentials } = world.robot.line;
  adaptTalosSection(spec, world);
  const caBundle = await readFile(ca ?? '', 'utf8');
  const { version = '', extensions = [], kernelArguments = [] } = (spec['talos'] ?? {}) as Partial<TalosSection>;
  const sha256 = metalImageChecksum(version, { extensions, kernelArguments });
  Object.assign(spec['hetznerRobot'] ?? {}, {
    ...{ url, caBundle, sshPort: Number(credentials['sshPort']), image: { sha256 } },
  });
}

/** The Cluster and the AccessRequest of `config/samples`, on bare servers. */
export async function robotClusterObjects(): Promise<KubeObject[]> {
  const objects = await readSamples('cluster', 'accessrequest');
  for (const object of objects) if (object.kind === 'Cluster') (object as Cluster).spec.profile = 'demo.talos.metal';
  return objects;
}

/** A Host as a user writes it. */
export function describeHostObject(
  name: string,
  spec: Partial<Host['spec']> & { readonly number: number; readonly expect: Host['spec']['expect'] },
  annotations: Record<string, string> = {},
): KubeObject {
  const { number, ...rest } = spec;
  return {
    ...{ apiVersion: apiVersionOf(Host), kind: Host.kind, metadata: { name, annotations } },
    spec: { serverID: `${number}`, hetznerRobot: {}, ...rest },
  } as KubeObject;
}
