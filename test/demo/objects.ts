import { readFile } from 'node:fs/promises';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { SimulatorAccess } from '../world/simulator.ts';
import type { RunningWorld } from '../world/world.ts';
import { readYamlObjects } from './cluster-session.ts';
import { demoNetwork } from './loopback.ts';

/** Every object of these files of `config/samples`. */
export const readSamples = async (...names: readonly string[]): Promise<KubeObject[]> =>
  (await Promise.all(names.map((name) => readYamlObjects(`config/samples/${name}.yaml`)))).flat();

export type RawSections = Record<string, Record<string, unknown>>;
export type RawConfig = KubeObject & { spec: RawSections };
export type RawSecret = KubeObject & { stringData?: Record<string, string> };

/**
 * The objects of `config/samples`, adapted from their example network to the demo's: URLs of the NAS and the image
 * factory, certificate authorities, keys and addresses. All other fields are unchanged.
 */
export async function sampleObjects(world: RunningWorld): Promise<KubeObject[]> {
  const objects = await readSamples('truenas', 'cluster', 'accessrequest');
  const { line } = world.truenas;
  for (const object of objects) {
    if (object.kind === 'ProviderConfig') await adaptConfig((object as RawConfig).spec, world);
    if (object.kind === 'Secret') adaptSecret(object as RawSecret, line);
  }
  return objects;
}

async function adaptConfig(spec: RawSections, world: RunningWorld): Promise<void> {
  const { line } = world.truenas;
  adaptTalosSection(spec, world);
  Object.assign(spec['network'] ?? {}, {
    addressPool: [demoNetwork.pool],
    prefix: demoNetwork.prefix,
    gateway: demoNetwork.gateway,
  });
  Object.assign(spec['truenas'] ?? {}, {
    url: line.url,
    ...(line.ca ? { caBundle: await readFile(line.ca, 'utf8') } : {}),
  });
}

/** The fields of the simulated environment that every platform needs. */
export function adaptTalosSection(spec: RawSections, { factory, oidc }: RunningWorld): void {
  Object.assign(spec['talos'] ?? {}, { factoryUrl: factory.line.url });
  Object.assign(spec['network'] ?? {}, { nameServers: [demoNetwork.gateway] });
  // Before Talos 1.14 nodes get it with their first configuration.
  spec['access'] = { oidcIssuers: [{ issuer: oidc.issuer, caBundle: oidc.ca }] };
}

function adaptSecret(object: RawSecret, line: SimulatorAccess): void {
  const { user = '', apiKey = '' } = line.credentials;
  object.stringData = { username: user, apiKey };
}
